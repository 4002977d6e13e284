package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/reports"
	"staleproof/scenarios"
	"staleproof/sim"
)

func (a *app) diffCommand() *cobra.Command {
	dir := "report"
	cmd := &cobra.Command{
		Use:   "diff TOKEN|SCHEDULE-FILE [TOKEN|SCHEDULE-FILE]",
		Short: "lay two runs side by side: where they part, and what came of it",
		Long: `Diff runs two schedules of one scenario again and lays them side by side on a
page: what they have in common, the event at which they part, and what became of
it. Without the second one it takes the nearest run that passes: the failing
schedule without one of its decisions.`,
		Example: `  staleproof diff sp1:...
  staleproof diff failing.schedule passing.schedule --report pages`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return usagef("diff: expected one or two replay tokens or schedule files, found %d arguments; see %s --help", len(args), cmd.CommandPath())
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFolder(dir, "diff.html"); err != nil {
				return err
			}
			left, err := replayArgument(args[0])
			if err != nil {
				return err
			}
			right, without, err := other(left, args[1:])
			if err != nil {
				return err
			}
			return a.diff(left, right, without, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "report", dir, "write the page to the folder `DIR`")
	return cmd
}

func replayArgument(arg string) (*replayed, error) {
	rec, err := readRecorded("diff", arg)
	if err != nil {
		return nil, err
	}
	return replay(rec)
}

// other is the run to compare with: the one that was named, or the nearest that
// passes, and then what it was made without.
func other(left *replayed, args []string) (right *replayed, without string, err error) {
	if len(args) == 0 {
		return nearest(left)
	}
	if right, err = replayArgument(args[0]); err != nil {
		return nil, "", err
	}
	if left.Scenario != right.Scenario {
		return nil, "", usagef("diff: expected two runs of one scenario, found %s and %s", left.Scenario, right.Scenario)
	}
	return right, "", nil
}

// maxNear is how many runs are tried at most in the search for the nearest one.
const maxNear = 200

// nearest finds the run that shares the longest beginning with a failing one and
// passes: the failing schedule without one decision, the last ones first. Where
// none of those passes, the first half of the decisions is tried, a quarter, up to
// the calm run.
func nearest(failing *replayed) (best *replayed, without string, err error) {
	if failing.verdict != checker.Violated {
		return nil, "", usagef("diff: expected a run that fails, or another one to compare it with; found that it is %s", failing.verdict)
	}
	s := failing.Schedule
	longest := -1
	for i := len(s) - 1; i >= max(0, len(s)-maxNear); i-- {
		p, err := replaySchedule(failing.Recorded, slices.Delete(slices.Clone(s), i, i+1))
		if err != nil {
			return nil, "", err
		}
		if n := common(failing, p); p.verdict == checker.Satisfied && n > longest {
			best, without, longest = p, failing.said(i), n
		}
	}
	for n := len(s) / 2; best == nil; n /= 2 {
		p, err := replaySchedule(failing.Recorded, s[:n])
		if err != nil {
			return nil, "", err
		}
		if p.verdict == checker.Satisfied {
			return p, fmt.Sprintf("the last %s", number(int64(len(s)-n), "decision")), nil
		}
		if n > 0 {
			continue
		}
		return nil, "", usagef("diff: expected a run near this one that passes, found none: all break something, the calm one too; name another run")
	}
	return best, without, nil
}

// said is a decision of the schedule in words: they come after those of the
// parameters.
func (p *replayed) said(i int) string { return p.words[len(p.words)-len(p.Schedule)+i] }

// replaySchedule runs another schedule of the same system.
func replaySchedule(rec *scenarios.Recorded, s sim.Schedule) (*replayed, error) {
	changed := *rec
	changed.Schedule, changed.Digest = s, 0
	return replay(&changed)
}

// common counts the events that two runs begin with.
func common(a, b *replayed) int {
	x, y := a.history.Events, b.history.Events
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

// side is a run as the page of a diff shows it.
func (p *replayed) side(name string) reports.Side {
	s := reports.Side{Name: name, Status: reports.Status(p.verdict.String())}
	if len(p.findings) > 0 {
		s.Finding = p.findings[0].Finding
	}
	s.Finding.History, s.Finding.Decisions, s.Finding.Work, s.Finding.Replay = p.history, p.words, p.work, replayCommand(p.Token())
	return s
}

// diffedLine is what --json prints of two runs.
type diffedLine struct {
	Type     string   `json:"type"` // "diffed"
	Scenario string   `json:"scenario"`
	Same     bool     `json:"same"`
	Shared   int      `json:"shared"` // events that both begin with
	A        diffSide `json:"a"`
	B        diffSide `json:"b"`
}

type diffSide struct {
	Defect    string   `json:"defect"`
	Status    string   `json:"status"`
	Broken    []string `json:"broken"`
	Decisions []string `json:"decisions"`
	Work      []string `json:"work,omitempty"` // that is less than the scenario's
	Replay    string   `json:"replay"`         // the token
}

func (p *replayed) diffSide() diffSide {
	return diffSide{p.Defects.String(), p.verdict.String(), orEmpty(p.broken()), orEmpty(p.words), p.work, p.Token()}
}

// diff writes the page, and says where the runs part.
func (a *app) diff(left, right *replayed, without, dir string) error {
	l, r := left.side(sideName(left, "the first run")), right.side(sideName(right, "the second run"))
	if left.verdict == right.verdict {
		l.Name, r.Name = "the first run", "the second run"
	}
	parting, err := reports.Part(l, r)
	if err != nil {
		return err
	}
	if err := reports.WriteDiff(dir, l, r); err != nil {
		return usage(err)
	}
	a.line(diffedLine{"diffed", left.Scenario, parting.Same, parting.Shared, left.diffSide(), right.diffSide()})
	a.tellSide(&l, left, "")
	a.tellSide(&r, right, without)
	a.tellParting(parting, l.Name, r.Name)
	a.wrote(filepath.Join(dir, "diff.html"))
	a.summary()
	return nil
}

func sideName(p *replayed, otherwise string) string {
	switch p.verdict {
	case checker.Violated:
		return "the failing run"
	case checker.Satisfied:
		return "the passing run"
	}
	return otherwise
}

// tellSide prints what a run is.
func (a *app) tellSide(s *reports.Side, p *replayed, without string) {
	if a.quiet {
		return
	}
	a.gap()
	a.printf("%s, %s: %s\n", a.style(bold, s.Name), name(p.Scenario, p.Defects.String()), a.style(colourOf(p.verdict), p.verdict.String()))
	if without != "" {
		a.field("without", without)
	}
	for i := range p.findings {
		a.broke(&p.findings[i])
	}
	switch {
	case without != "":
	case len(p.words) == 0:
		a.field("decisions", "none: the calm run")
	default:
		a.decisions(p.words, true)
	}
	a.field("less work", strings.Join(p.work, ", "))
	a.printf("  %-9s  %s\n", "replay", a.style(bold, s.Finding.Replay))
}

// tellParting prints where two runs part.
func (a *app) tellParting(p reports.Parting, left, right string) {
	if a.quiet {
		return
	}
	a.gap()
	if p.Same {
		a.printf("%s", wrap("", "  ", "They are the same run: "+number(int64(p.Shared), "event")+"."))
		return
	}
	text := "They part at the first event."
	if p.Shared > 0 {
		text = "They are the same for " + number(int64(p.Shared), "event") + ". Then:"
	}
	a.printf("%s", wrap("", "  ", text))
	for _, s := range [][2]string{{left, p.A}, {right, p.B}} {
		a.printf("%s", wrap("  "+s[0]+": ", "    ", cmp.Or(s[1], "has ended")))
	}
}
