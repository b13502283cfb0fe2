package main

import "runtime/debug"

type versionCommand struct{}

type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

// Run tells which build this is.
func (versionCommand) Run(out *console) error {
	b := build{Version: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version, b.Go = info.Main.Version, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return out.answer(b, func() error { return out.line("portillon %s %s (%s)", b.Version, b.Revision, b.Go) })
}
