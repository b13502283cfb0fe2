package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// secretFromFile gives a flag that is marked as a secret the content of the file
// that $<its variable>_FILE names. The variable itself and the file are not to be
// given both: nobody could tell which one counts.
func secretFromFile(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !flag.Tag.Has("secret") {
		return nil, nil
	}
	for _, name := range flag.Envs {
		path := os.Getenv(name + "_FILE")
		if path == "" {
			continue
		}
		if os.Getenv(name) != "" {
			return nil, fmt.Errorf("both %s and %s_FILE are set; give one", name, name)
		}
		content, err := os.ReadFile(path) //nolint:gosec // the operator names his own file
		if err != nil {
			return nil, fmt.Errorf("%s_FILE: %w", name, err)
		}
		return strings.TrimSpace(string(content)), nil
	}
	return nil, nil
}
