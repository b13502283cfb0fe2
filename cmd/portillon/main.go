// Command portillon is the ticket gate: the server, the demo, and everything an
// operator, an admin, a controller and a customer's phone can do in a shell.
//
// It promises that every command answers for people, or with --json for
// programs (one object a line on standard output, everything else on standard
// error), and that its exit codes mean what `portillon --help` says. It holds no
// rule of its own: commands that work on the database call the server's verbs,
// all others the public HTTP API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // venues have time zones on machines that have none

	"github.com/alecthomas/kong"
)

// Exit codes, the same for every command.
const (
	exitOK      = 0 // done; of scan: decided, whatever the verdict
	exitFailed  = 1 // it did not work; the reason is on standard error
	exitUsage   = 2 // the command line makes no sense
	exitRefused = 3 // scan --exit-code: decided, and not admitted
)

// root is the command line. Kong reads flags, help and environment from it.
type root struct {
	JSON bool `name:"json" help:"Answer for programs: one JSON object a line on standard output." env:"PORTILLON_JSON"`

	Serve   serveCommand   `cmd:"" group:"server" set:"log_level=info" help:"Run everything: database, HTTP, pages."`
	Demo    demoCommand    `cmd:"" group:"server" set:"log_level=warn" help:"Run everything with a demo cinema in it, and print the links to try."`
	Migrate migrateCommand `cmd:"" group:"server" help:"Bring the database's schema up to date, or look at it."`
	Doctor  doctorCommand  `cmd:"" group:"server" help:"Check the installation and say what to do."`
	Staff   staffCommand   `cmd:"" group:"server" help:"People and their roles (works on the database itself)."`
	Device  deviceCommand  `cmd:"" group:"server" help:"Gate devices for scripts (works on the database itself)."`

	Venue  venueCommand  `cmd:"" group:"admin" help:"Places with gates and one time zone."`
	Event  eventCommand  `cmd:"" group:"admin" help:"Showings and their categories of tickets."`
	Ticket ticketCommand `cmd:"" group:"admin" help:"Issue tickets, look at them, end them."`
	Token  tokenCommand  `cmd:"" group:"admin" help:"API tokens for scripts."`

	Gate   gateCommand   `cmd:"" group:"door" help:"Gates of a venue; hold one open like a gate page."`
	Scan   scanCommand   `cmd:"" group:"door" help:"Decide on a code, like a controller."`
	Wallet walletCommand `cmd:"" group:"door" help:"The reference phone: claim tickets, show codes."`

	Bench benchCommand `cmd:"" group:"server" help:"Measure this build on this machine."`

	Version versionCommand `cmd:"" help:"Say which build this is."`
}

const description = `Portillon, a ticket gate. One ticket, one entry.

To see it work, run "portillon demo" and open the three links it prints. To run
it for real, start with "portillon serve" and "portillon staff add".

Exit codes: 0 done; 1 it did not work; 2 the command line makes no sense;
3 only from "scan --exit-code": decided, and not admitted.

Flags marked with $PORTILLON_… can be given in the environment instead; those
that are secrets also as $PORTILLON_…_FILE, the name of a file that holds them.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // from now on a second signal ends the process at once
	}()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// garbage is how much of it may lie about before it is collected, in percent of what
// is in use. A server has some ten megabytes in use: collecting seldom costs it less
// memory than an open page does, and collecting often a tenth of its work.
const garbage = 400

// run is main without the process around it; it gives the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var line root
	out := &console{in: stdin, out: stdout, err: stderr}
	parser, err := kong.New(&line,
		kong.Name("portillon"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(stdout, stderr), kong.Exit(os.Exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Run it:"}, {Key: "admin", Title: "What the desk does, for scripts:"}, {Key: "door", Title: "At the door:"},
		}),
		kong.Resolvers(kong.ResolverFunc(secretFromFile)),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(out),
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "portillon:", err)
		return exitFailed
	}
	if len(args) == 0 || args[0] == "help" {
		args = append(args[min(1, len(args)):], "--help")
	}
	selected, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "portillon: %v\nTry \"portillon --help\".\n", err)
		return exitUsage
	}
	out.json = line.JSON
	return out.exitCode(selected.Run())
}

// usageError is a command line that parses and still makes no sense.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errRefused is a decided scan that lets nobody in; its answer is printed.
var errRefused = errors.New("not admitted")

func (c *console) exitCode(err error) int {
	var wrong usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errRefused):
		return exitRefused
	case errors.As(err, &wrong):
		c.note("portillon: %v", err)
		return exitUsage
	}
	c.note("portillon: %v", err)
	return exitFailed
}
