// Package checkout provides this project's sources to proofs that build them: unchanged, copied,
// changed, or from an earlier commit.
package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Root returns the project's root: the nearest folder above the working directory with a go.work.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("run it inside the project's tree: no folder above has a go.work")
}

// Files lists the files that git tracks or would add, with slashes.
func Files(ctx context.Context, root string) (names []string, _ error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
		"--deduplicate")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		// a deletion need not be committed yet
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			names = append(names, name)
		}
	}
	return names, err
}

// Copy copies the files of the project.
func Copy(ctx context.Context, root, to string) error {
	names, err := Files(ctx, root)
	if err != nil {
		return err
	}
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		copied := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(copied), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(copied, body, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Overlay writes texts that the go command reads instead of the files with these paths. It returns
// the file for the flag -overlay, which is in a new folder below temp.
func Overlay(temp string, texts map[string][]byte) (file string, _ error) {
	dir, err := os.MkdirTemp(temp, "overlay-")
	if err != nil {
		return "", err
	}
	replace := make(map[string]string, len(texts))
	for path, text := range texts {
		replace[path] = filepath.Join(dir, strconv.Itoa(len(replace))+"-"+filepath.Base(path))
		if err := os.WriteFile(replace[path], text, 0o600); err != nil {
			return "", err
		}
	}
	body, err := json.Marshal(map[string]any{"Replace": replace})
	file = filepath.Join(dir, "overlay.json")
	return file, errors.Join(err, os.WriteFile(file, body, 0o600))
}

// ErrNoHistory says that the clone has not got a commit, and cannot fetch it.
var ErrNoHistory = errors.New("the commit is not in this clone and cannot be fetched")

// At returns a folder with the files of a commit. It makes the folder once, in this user's cache,
// so that Go compiles the packages there only once.
func At(ctx context.Context, root, commit string) (string, error) {
	if Run(ctx, root, "git", "rev-parse", "--git-dir") != nil {
		return "", fmt.Errorf("%w: %s: no clone", ErrNoHistory, commit)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	tree := filepath.Join(cache, "interlude", "earlier-"+commit[:12])
	if _, err := os.Stat(tree); err == nil {
		return tree, nil
	}
	if Run(ctx, root, "git", "cat-file", "-e", commit+"^{commit}") != nil &&
		Run(ctx, root, "git", "fetch", "--depth=1", "origin", commit) != nil {
		return "", fmt.Errorf("%w: %s", ErrNoHistory, commit)
	}
	if err := os.MkdirAll(filepath.Dir(tree), 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(filepath.Dir(tree), "earlier-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	packed, whole := filepath.Join(half, "tree.tar"), filepath.Join(half, "tree")
	if err := Run(ctx, root, "git", "archive", "--output="+packed, commit); err != nil {
		return "", err
	}
	if err := errors.Join(os.Mkdir(whole, 0o700), Run(ctx, whole, "tar", "-xf", packed)); err != nil {
		return "", err
	}
	if err := os.Rename(whole, tree); err != nil {
		if _, made := os.Stat(tree); made != nil {
			return "", err
		}
	} // or another process has created it
	return tree, nil
}

// Run runs a program in a folder. If the program fails, the error has its output.
func Run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
