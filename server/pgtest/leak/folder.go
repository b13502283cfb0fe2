package leak

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The two kinds of files in a folder: a dump (table lines and rows), and secrets
// (one a line, in base64 so that a line is one).
const (
	DumpSuffix    = ".dump"
	SecretsSuffix = ".secrets"
)

// ErrNothing means that a folder holds no dump or no secret, so that finding none
// says nothing.
var ErrNothing = errors.New("nothing to search")

// Report is what a search of a folder came to.
type Report struct {
	Secrets int
	Bytes   int64
	Found   []string // sentences that name file and table
}

// Search looks for all secrets of the folder in all its dumps.
func Search(dir string) (Report, error) {
	secrets, err := readSecrets(dir)
	if err != nil {
		return Report{}, err
	}
	dumps, err := filepath.Glob(filepath.Join(dir, "*"+DumpSuffix))
	if err != nil {
		return Report{}, err
	}
	if len(secrets) == 0 || len(dumps) == 0 {
		return Report{}, fmt.Errorf("%w: %s has %d dumps and %d secrets; were the tests run with the folder in their environment?",
			ErrNothing, dir, len(dumps), len(secrets))
	}
	report := Report{Secrets: len(secrets)}
	finder := NewFinder(secrets)
	for _, name := range dumps {
		dump, err := os.ReadFile(name)
		if err != nil {
			return report, err
		}
		report.Bytes += int64(len(dump))
		for _, place := range finder.In(dump) {
			report.Found = append(report.Found, fmt.Sprintf("%s: table %s holds a secret, %s", name, place.Table, place.Form))
		}
	}
	return report, nil
}

func readSecrets(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+SecretsSuffix))
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(secret) >= MinLength {
				secrets = append(secrets, string(secret))
			}
		}
	}
	return secrets, nil
}
