package reports

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

func TestGolden(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, textbook()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "run-textbook-store-ignores-token-no-stale-write.html"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got), -update rewrites it:\n%s", name, diff)
		}
	}
}
