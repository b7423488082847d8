package arch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func decodeYAML(t *testing.T, file string, to any) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", file))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(body, to), file)
	return string(body)
}

// R1: workflows call the scripts that every machine has, with the least rights, and use only actions
// of GitHub.
func TestR1WorkflowsCallTheScripts(t *testing.T) {
	calls := map[string]string{"checks.yml": ".ci/run", "search.yml": ".ci/search", "release.yml": ".ci/release"}
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	require.NoError(t, err)
	require.Len(t, files, len(calls))
	script := regexp.MustCompile(`\.ci/[a-z]+(\.sh)?|packaging/[A-Za-z/]+`)
	for _, file := range files {
		name := filepath.Base(file)
		var workflow struct {
			Name        string
			On          any
			Permissions map[string]string
			Jobs        map[string]struct {
				RunsOn string `yaml:"runs-on"`
				Steps  []struct{ Uses, Run string }
			}
		}
		text := decodeYAML(t, ".github/workflows/"+name, &workflow)
		require.NotEmpty(t, workflow.Permissions, name)
		called := ""
		for _, job := range workflow.Jobs {
			require.NotEmpty(t, job.RunsOn, name)
			for _, step := range job.Steps {
				require.NotEqual(t, step.Uses == "", step.Run == "", "%s: a step is an action or a command", name)
				require.True(t, step.Uses == "" || strings.HasPrefix(step.Uses, "actions/"), step.Uses)
				called += step.Run + "\n"
			}
		}
		require.Contains(t, called, calls[name])
		for _, path := range script.FindAllString(text, -1) {
			require.FileExists(t, filepath.Join("..", "..", path), name)
		}
	}
}

// R1: dependencies of every module are kept current, and packages of npm are locked by their hashes.
func TestR1DependabotKnowsEveryModule(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
		}
	}
	decodeYAML(t, ".github/dependabot.yml", &config)
	covered := func(ecosystem, dir string) bool {
		for _, u := range config.Updates {
			for _, pattern := range u.Directories {
				if ok, _ := filepath.Match(pattern, dir); ok && u.Ecosystem == ecosystem {
					return true
				}
			}
		}
		return false
	}
	for _, dir := range append([]string{""}, nestedModules...) {
		require.True(t, covered("gomod", "/"+dir), dir)
	}
	for _, pattern := range []string{".ci/npm/*", "clients/*"} {
		packages, err := filepath.Glob("../../" + pattern + "/package.json")
		require.NoError(t, err)
		require.NotEmpty(t, packages)
		for _, file := range packages {
			require.True(t, covered("npm", strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../..")), file)
		}
	}
	locks, err := filepath.Glob("../../.ci/npm/*/package-lock.json")
	require.NoError(t, err)
	require.NotEmpty(t, locks)
	for _, lock := range locks {
		body, err := os.ReadFile(lock)
		require.NoError(t, err)
		var locked struct {
			Packages map[string]struct{ Integrity string }
		}
		require.NoError(t, json.Unmarshal(body, &locked))
		require.NotEmpty(t, locked.Packages)
		for name, p := range locked.Packages {
			require.True(t, name == "" || p.Integrity != "", "%s: %s has no hash", lock, name)
		}
	}
}

// R1: the forms for issues can be used.
func TestR1IssueFormsAreValid(t *testing.T) {
	for _, name := range []string{"bug.yml", "idea.yml"} {
		var form struct {
			Name, Description string
			Body              []struct {
				Type, ID   string
				Attributes struct{ Label string }
			}
		}
		decodeYAML(t, ".github/ISSUE_TEMPLATE/"+name, &form)
		require.NotEmpty(t, form.Name+form.Description)
		ids := make(map[string]bool)
		for _, field := range form.Body {
			require.Contains(t, []string{"textarea", "input", "dropdown"}, field.Type)
			require.NotEmpty(t, field.Attributes.Label)
			require.False(t, ids[field.ID] || field.ID == "", field.ID)
			ids[field.ID] = true
		}
	}
}
