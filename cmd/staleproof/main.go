// Command staleproof simulates systems that protect a resource with leases and
// fencing tokens, judges what happens, and says in words what went wrong:
//
//	staleproof run       the built-in suite: every scenario and every defect
//	staleproof replay    a failure again, event for event
//	staleproof check     a history recorded from a real system
//	staleproof list      what there is
//
// The work is done in the packages beside it; here it is asked for, printed, and
// turned into an exit code.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"staleproof/model/history"
	"staleproof/scenarios"
	"staleproof/scenarios/search"
	"staleproof/sim/watchdog"
)

// version is that of the tool; the formats that it writes have their own.
const version = "0.1.0"

// Exit codes.
const (
	exitOK           = 0  // as expected
	exitViolation    = 1  // a property was broken, or a planted defect was not caught
	exitUsage        = 2  // bad arguments or bad input
	exitInconclusive = 3  // not everything could be judged
	exitInternal     = 70 // internal error, nondeterminism, a diverged replay
)

// interrupts end a search with what it has.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

// gcPercent is the GOGC of the command: a simulation keeps little.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command with its arguments and streams; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	a := newApp(stdout, stderr)
	defer func() {
		if v := recover(); v != nil {
			a.status.done()
			fmt.Fprintf(stderr, "staleproof: internal error: %s; please report it with the command line\n", oneLine(panicText(v)))
			code = exitInternal
		}
	}()
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	a.status.done()
	if broken := a.brokenStream(); broken != nil {
		err = broken
	}
	if err != nil {
		a.fail(err)
		return exitCode(err)
	}
	return a.code
}

// usageError is bad arguments or bad input: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode is that of a command that could not do what it was asked.
func exitCode(err error) int {
	var bad usageError
	var syntax *history.SyntaxError
	var token *scenarios.TokenError
	if errors.As(err, &bad) || errors.As(err, &syntax) || errors.As(err, &token) {
		return exitUsage
	}
	return exitInternal
}

// message is an error as it is printed: printable, and one line, but for a process that blocks,
// whose stack says where.
func message(err error) string {
	var blocked *watchdog.Blocked
	var crashed *search.PanicError
	if errors.As(err, &blocked) {
		return history.Printable(strings.TrimSpace(err.Error()))
	}
	text := oneLine(err.Error())
	if errors.As(err, &crashed) {
		text = "internal error: " + text + "; please report it with the command line"
	}
	return text
}

// oneLine puts a text that may have several lines on one, and makes it printable.
func oneLine(text string) string { return onLine(strings.Join(words(text), " ")) }

// panicText says what panicked and where.
func panicText(v any) string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic" || strings.HasPrefix(f.Function, "runtime.panic"):
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%v (in %s, line %d)", v, f.Function, f.Line)
		}
		if !more {
			return fmt.Sprint(v)
		}
	}
}
