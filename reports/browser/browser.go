// Package browser opens the pages of package reports in chromium and looks at
// them as a reader would: its tests hold them to asking nobody for anything, to
// being readable with scripts off, in the dark, on a telephone and by keyboard,
// and to being quick with a hundred thousand events.
//
// The tests skip where there is no chromium, unless CI is set in the
// environment. With STALEPROOF_SHOTS set to a folder they leave pictures there.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Find returns the path of a chromium, empty when there is none.
func Find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts a browser that keeps its profile in dir and asks nobody for
// anything of its own. The function that it returns ends the browser.
func Start(path, dir string) (context.Context, context.CancelFunc, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(dir),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.CombinedOutput(nullWriter{}),
	)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	stop := func() { end(); endAllocator() }
	return ctx, stop, chromedp.Do(ctx)
}

type nullWriter struct{}

func (nullWriter) Write(b []byte) (int, error) { return len(b), nil }

// View is how a page is looked at.
type View struct {
	Width, Height int64
	NoScript      bool
}

// Tab is a page that is open.
type Tab struct {
	context.Context
	view     View
	mu       sync.Mutex
	complain []string // errors of the console, and requests
}

// Open opens a page in a tab of its own. The function that it returns closes it.
func Open(browser context.Context, url string, v View) (*Tab, context.CancelFunc, error) {
	t := &Tab{view: v}
	ctx, end := chromedp.NewContext(browser, chromedp.WithListener(func(event any) { t.hear(event, url) }))
	if err := chromedp.Do(ctx); err != nil { // opens the tab, which lives as long as this context
		return t, end, err
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	t.Context = ctx
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		err := size(ctx, target, v.Width, v.Height)
		if err == nil {
			_, err = cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
		}
		return err
	}), chromedp.Navigate(url))
	if err == nil && !v.NoScript {
		err = t.ready()
	}
	return t, func() { cancel(); end() }, err
}

func size(ctx context.Context, target *chromedp.Target, width, height int64) error {
	_, err := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
	return err
}

// ready waits for the script of the page, if it has one.
func (t *Tab) ready() error {
	return chromedp.Do(t, chromedp.Poll[chromedp.Void](`document.readyState === "complete" && (!document.getElementById("packed") || document.documentElement.dataset.failed !== undefined)`))
}

// hear notes what a page that needs nothing and nobody should not do.
func (t *Tab) hear(event any, url string) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.note("exception: " + fmt.Sprint(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		t.note("console: " + fmt.Sprint(e.Type))
	case *log.EventEntryAdded:
		t.note("log: " + e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if asked, _, _ := strings.Cut(e.Request.URL, "#"); asked != strings.Split(url, "#")[0] {
			t.note("request: " + e.Request.URL)
		}
	}
}

func (t *Tab) note(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.complain = append(t.complain, s)
}

// Complaints returns what the page should not have done, so far.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.complain...)
}

// Eval runs a script in the page and returns its result, that of a promise too.
func Eval[T any](t *Tab, script string) (T, error) {
	out, err := chromedp.Run(t, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		return out, fmt.Errorf("%w in %s", err, script)
	}
	return out, nil
}

// settle waits until what the page has asked to draw is drawn.
const settle = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// Dark turns the page's surroundings dark, or light.
func (t *Tab) Dark(dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	return chromedp.Do(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, media)
		return err
	}))
}

// Press types keys, one after another, and waits for the page to follow.
func (t *Tab) Press(keys ...string) error {
	for _, k := range keys {
		if err := chromedp.Do(t, chromedp.KeyEvent(k)); err != nil {
			return err
		}
	}
	_, err := Eval[bool](t, settle)
	return err
}

// Shot writes a picture of the whole page to path.
func (t *Tab) Shot(path string) error {
	height, err := Eval[int64](t, `document.documentElement.scrollHeight`)
	if err != nil {
		return err
	}
	err = chromedp.Do(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		return size(ctx, target, t.view.Width, height)
	}))
	if err != nil {
		return err
	}
	if _, err := Eval[bool](t, settle); err != nil {
		return err
	}
	picture, err := chromedp.Run(t, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}
