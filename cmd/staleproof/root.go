package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"staleproof/model/history"
)

// app is one invocation: its streams, its global flags, its verdict.
type app struct {
	console
	report outputs
	code   int
	// regressed are the regressions that are not as expected.
	regressed []string
}

func newApp(stdout, stderr io.Writer) *app { return &app{console: newConsole(stdout, stderr)} }

// worse raises the exit code: bad input over a violation, a violation over an
// inconclusive verdict.
func (a *app) worse(code int) {
	rank := func(c int) int {
		switch c {
		case exitInconclusive:
			return 1
		case exitViolation:
			return 2
		case exitUsage:
			return 3
		}
		return c // exitOK, exitInternal
	}
	if rank(code) > rank(a.code) {
		a.code = code
	}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "staleproof",
		Short: "find out whether leases and fencing tokens protect a resource",
		Long: `Staleproof simulates systems that protect a resource with leases and fencing
tokens, judges what happens, and says in words what went wrong.

  staleproof run                      the built-in suite, in seconds
  staleproof replay sp1:...           a failure again, event for event
  staleproof check history.jsonl      a history recorded from a real system

Exit codes: 0 as expected, 1 violation, 2 bad arguments or input,
3 inconclusive, 70 internal error, nondeterminism or a diverged replay.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := noBlanks(cmd); err != nil {
				return err
			}
			return a.open()
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate(fmt.Sprintf("staleproof {{.Version}} (%s %s/%s)\n", runtime.Version(), runtime.GOOS, runtime.GOARCH))
	// Flags are wrapped as all text is.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", width)))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "machine lines on stdout, text for people on stderr")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only what is not as expected")
	flags.Var(&a.color, "color", "auto, always or never; NO_COLOR means never")
	root.AddCommand(a.runCommand(), a.fuzzCommand(), a.mergeCommand(), a.exploreCommand(), a.replayCommand(), a.checkCommand(), a.reportCommand(), a.diffCommand(), a.listCommand())
	root.SetHelpCommand(helpCommand(root))
	eachOnce(root.PersistentFlags())
	for _, cmd := range root.Commands() {
		eachOnce(cmd.Flags())
	}
	return root
}

// noSuchCommand refuses arguments of the bare command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknown("command", args[0], commandNames(cmd), "staleproof --help")
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// helpCommand is cobra's, but an unknown command is an error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "say how to use a command",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return root.Help()
			}
			cmd, rest, err := root.Find(args)
			if err == nil && cmd != root && len(rest) > 0 {
				return usagef("help: expected one command, found %s and %q", cmd.Name(), rest[0])
			}
			if err != nil || cmd == root {
				return unknown("command", args[0], commandNames(root), "staleproof --help")
			}
			return cmd.Help()
		},
	}
}

// flagError says in one line what is wrong with a flag, and names the nearest.
func flagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help"
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if short := missing.GetSpecifiedShortnames(); short != "" {
			return usagef("unknown flag \"-%s\": see %s", short, help)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return unknown("flag", "--"+missing.GetSpecifiedName(), names, help)
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef("--%s: expected a value, found none; see %s", bare.GetSpecifiedName(), help)
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := value.GetFlag()
		cause := value.Unwrap()
		if twice, ok := errors.AsType[*givenTwice](cause); ok {
			return usagef("--%s: expected it once, found %q and %q; give one of them", flag.Name, twice.first, value.GetValue())
		}
		switch flag.Value.Type() {
		case "int", "int64":
			cause = errors.New("expected a whole number")
		case "bool":
			cause = errors.New("expected true or false")
		}
		return usagef("--%s: %v, found %q", flag.Name, cause, value.GetValue())
	}
	return usagef("%w; see %s", err, help)
}

// unknown is the error of a name that is none of names: it tells the nearest one,
// or all if they are few, or where to find them.
func unknown(what, name string, names []string, where string) error {
	if near := history.Nearest(name, names); near != "" {
		return usagef("unknown %s %q: did you mean %s?", what, name, near)
	}
	if len(names) > 8 {
		return usagef("unknown %s %q: see %s", what, name, where)
	}
	return usagef("unknown %s %q: expected one of %s", what, name, strings.Join(names, ", "))
}

// atLeastOne and exactlyOne check the number of arguments.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef("%s: expected %s, found no argument; see %s --help", cmd.Name(), what, cmd.CommandPath())
	}
}

func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usagef("%s: expected %s, found %d arguments; see %s --help", cmd.Name(), what, len(args), cmd.CommandPath())
	}
}
