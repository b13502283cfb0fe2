package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Chromium is a running browser with a profile that nobody has used before.
type Chromium struct {
	ctx  context.Context
	stop func()
}

// Launch starts a Chromium without a window, and with further flags.
func Launch(flags map[string]any) (*Chromium, error) {
	profile, err := os.MkdirTemp("", "portillon-profile-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile))
	quiet := map[string]any{
		"disable-quic": true, "disable-component-update": true, "disable-sync": true,
		"disable-background-networking": true, "no-first-run": true,
		// The pages choose their language by what the browser asks for.
		"lang": "en", "accept-lang": "en",
		// Lines of text break alike on every machine.
		"hide-scrollbars": true, "force-color-profile": "srgb",
	}
	for _, set := range []map[string]any{quiet, flags} {
		for name, value := range set {
			options = append(options, chromedp.Flag(name, value))
		}
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	c := &Chromium{ctx: ctx, stop: func() {
		end()
		release()
		_ = os.RemoveAll(profile)
	}}
	if err := chromedp.Do(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start Chromium (apt-get install chromium): %w", err)
	}
	return c, nil
}

// Stop ends the browser and removes its profile.
func (c *Chromium) Stop() { c.stop() }

// shared is the one browser of this test binary for tests that need no camera
// and no browser of their own. Main stops it.
var shared struct {
	sync.Mutex
	chromium *Chromium
}

func sharedChromium() (*Chromium, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.chromium != nil {
		return shared.chromium, nil
	}
	var err error
	shared.chromium, err = Launch(nil)
	return shared.chromium, err
}

// Main runs the tests and stops the shared browser after them.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.chromium != nil {
		shared.chromium.Stop()
	}
	return code
}

// Visit opens a page in the shared browser as somebody new: no cookie, no key
// and no cache of another visit. What its console reports as an error fails the
// test at its end, unless the test took it before.
func Visit(t testing.TB) (*Tab, *Console) {
	t.Helper()
	chromium, err := sharedChromium()
	if err != nil {
		t.Fatal(err)
	}
	console := &Console{}
	ctx, end := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(console.hear))
	t.Cleanup(end)
	// Before anything that has a deadline, which would be the tab's as well.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	tab := &Tab{t: t, ctx: ctx, console: console}
	t.Cleanup(tab.complain)
	return tab, console
}

// Console collects what a page's console reports as an error: errors that
// scripts print, exceptions that nobody caught, and what the browser itself
// complains about, such as violations of the policy and failed requests.
type Console struct {
	mu   sync.Mutex
	said []string
}

// Take returns what was reported since the last call.
func (c *Console) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.said
	c.said = nil
	return said
}

func (c *Console) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			c.note(arguments(e.Args))
		}
	case *runtime.EventExceptionThrown:
		c.note(thrown(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			c.note(strings.TrimSpace(e.Entry.Text + " " + e.Entry.URL))
		}
	}
}

func (c *Console) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, text)
}

func arguments(args []*runtime.RemoteObject) string {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		if arg.Description != "" {
			words = append(words, arg.Description)
			continue
		}
		words = append(words, string(arg.Value))
	}
	return strings.Join(words, " ")
}

func thrown(details *runtime.ExceptionDetails) string {
	if details.Exception != nil && details.Exception.Description != "" {
		return details.Text + " " + details.Exception.Description
	}
	text, err := json.Marshal(details)
	if err != nil {
		return details.Text
	}
	return string(text)
}

// Context is the page's, for commands of the protocol that Tab does not have.
func (p *Tab) Context() context.Context { return p.ctx }
