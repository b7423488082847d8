package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

const packaging = "../../packaging/"

func packagingFile(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(packaging, name))
	require.NoError(t, err)
	return string(body)
}

// R1, R2: each variable that a file of packaging sets belongs to a flag of a verb that it starts.
func TestR1PackagesSetKnownVariables(t *testing.T) {
	known := []string{command.Platform, "INTERLUDE_VERSION"} // the second is compose.yaml's
	for _, v := range program.Verbs {
		if v.Name == "serve" || v.Name == "migrate" {
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			v.Prepare(flags)
			flags.VisitAll(func(f *flag.Flag) { known = append(known, command.Variable(command.Prefix, f.Name)) })
		}
	}
	variable := regexp.MustCompile(`\bINTERLUDE_[A-Z_]+`)
	for _, name := range []string{"Dockerfile", "compose.yaml", "kubernetes/interlude.yaml", "kubernetes/migrate.yaml",
		"systemd/environment", "systemd/interlude.service"} {
		found := variable.FindAllString(packagingFile(t, name), -1)
		require.NotEmpty(t, found, name)
		for _, one := range found {
			require.Contains(t, known, one, name)
		}
	}
}

// R1: the image has one program, no shell, no root, and nothing is executed while it is built.
func TestR1TheImageIsMinimal(t *testing.T) {
	var instructions []string
	for line := range strings.Lines(packagingFile(t, "Dockerfile")) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" && word != "#" {
			instructions = append(instructions, word)
		}
	}
	require.Equal(t, "FROM", instructions[0])
	for _, refused := range []string{"RUN", "ADD", "SHELL"} {
		require.NotContains(t, instructions, refused)
	}
	text := packagingFile(t, "Dockerfile")
	require.Contains(t, text, "\nFROM scratch\n")
	require.Regexp(t, `(?m)^USER [1-9]\d*:[1-9]\d*$`, text)
	require.Contains(t, text, `ENTRYPOINT ["/usr/bin/interlude"]`)
}

// composeFile has the keys of compose.yaml that the project uses.
type composeFile struct {
	Name     string
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		ReadOnly    bool                                  `yaml:"read_only"`
		CapDrop     []string                              `yaml:"cap_drop"`
		SecurityOpt []string                              `yaml:"security_opt"`
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Configs     []struct{ Source, Target string }
		Volumes     []string
		Ports       []string
		Restart     string
		Healthcheck map[string]any
		StopGrace   string `yaml:"stop_grace_period"`
	}
	Configs map[string]struct{ Content string }
	Volumes map[string]struct{}
}

// composed reads compose.yaml. The configured token hash is the hash of "open".
func composed(t *testing.T) (file composeFile, host string) {
	t.Helper()
	in := yaml.NewDecoder(strings.NewReader(packagingFile(t, "compose.yaml")))
	in.KnownFields(true)
	require.NoError(t, in.Decode(&file))
	return file, regexp.MustCompile(`\$\{TOKEN_HASH[^}]*\}`).ReplaceAllString(file.Configs["host"].Content, hashOf("open"))
}

// R1: the configuration in compose.yaml is valid, and its containers run without privileges.
func TestR1ComposeIsComplete(t *testing.T) {
	file, host := composed(t)
	for name, service := range file.Services {
		for other := range service.DependsOn {
			require.Contains(t, file.Services, other)
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			require.Contains(t, file.Volumes, source)
		}
		for _, port := range service.Ports {
			require.Regexp(t, "^127.0.0.1:", port, "not for other machines")
		}
		if name != "postgres" {
			require.True(t, service.ReadOnly, name)
			require.Equal(t, []string{"ALL"}, service.CapDrop, name)
			require.Contains(t, service.Environment["INTERLUDE_DB"], "postgres://interlude@postgres/interlude", name)
		}
	}
	path := filepath.Join(t.TempDir(), "host.json")
	require.NoError(t, os.WriteFile(path, []byte(host), 0o600))
	read, err := readHostFile(path)
	require.NoError(t, err)
	require.NotNil(t, read.SignIn)
}

// R1: the services of compose.yaml work without Compose. The job creates the tables, and then the
// page asks for the token. Variables and configuration come from the file; only addresses differ.
func TestR1WhatComposeStartsWorks(t *testing.T) {
	file, host := composed(t)
	dsn := pgtest.DSN(t)
	start := func(service string, command ...string) *exec.Cmd {
		cmd := calling(t, command...)
		cmd.Dir = t.TempDir()
		for name, value := range file.Services[service].Environment {
			switch name {
			case "INTERLUDE_DB":
				value = dsn
			case "INTERLUDE_CONFIG":
				require.Equal(t, file.Services[service].Configs[0].Target, value)
				value = filepath.Join(cmd.Dir, "host.json")
				require.NoError(t, os.WriteFile(value, []byte(host), 0o600))
			}
			if name != "PGPASSWORD" { // the DSN names the test's server
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
		return cmd
	}
	out, err := start("migrate", file.Services["migrate"].Command...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, file.Services["interlude"].Command, "the image's command is serve")
	cmd := start("interlude", "serve", "-json")
	cmd.Env = append(cmd.Env, "INTERLUDE_LISTEN=127.0.0.1:0")
	lines, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(lines).ReadString('\n')
	require.NoError(t, err)
	var said announced
	require.NoError(t, json.Unmarshal([]byte(line), &said))
	status, _, _ := request(t, http.MethodGet, said.Page, "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _, page := request(t, http.MethodGet, strings.Replace(said.Page, "http://", "http://admin:open@", 1), "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "<!doctype html>")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

// R1: files that contain the version name the next release, which the modules require of each
// other.
func TestR1FilesNameTheNextVersion(t *testing.T) {
	required, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	found := regexp.MustCompile(`interlude-go/interlude v(\S+)`).FindSubmatch(required)
	require.NotNil(t, found)
	for name, where := range map[string]string{
		"compose.yaml":                       `\$\{INTERLUDE_VERSION:-([^}]*)\}`,
		"kubernetes/interlude.yaml":          `ghcr\.io/interlude-go/interlude:(\S+)`,
		"kubernetes/migrate.yaml":            `ghcr\.io/interlude-go/interlude:(\S+)`,
		"../clients/typescript/package.json": `"version": "([^"]*)"`,
		"../docs/tutorials/install.md":       `interlude_(\d[^_]*)_linux`,
	} {
		all := regexp.MustCompile(where).FindAllStringSubmatch(packagingFile(t, name), -1)
		require.NotEmpty(t, all, name)
		for _, one := range all {
			require.Equal(t, string(found[1]), one[1], "%s: see RELEASING.md, step 2", name)
		}
	}
}

// R1: the packages' scripts are valid and executable. (.ci/rehearse.sh installs, upgrades,
// removes and purges the package in a fresh root.)
func TestR1TheScriptsOfPackagesAreValid(t *testing.T) {
	var file struct{ Scripts map[string]string }
	require.NoError(t, yaml.Unmarshal([]byte(packagingFile(t, "nfpm.yaml")), &file))
	require.Len(t, file.Scripts, 3)
	for _, script := range file.Scripts {
		path := filepath.Join(packaging, "..", script)
		out, err := exec.Command("sh", "-n", path).CombinedOutput()
		require.NoError(t, err, string(out))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, script)
	}
}

// manifest is a Kubernetes manifest.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Replicas       int
		MaxUnavailable int `yaml:"maxUnavailable"`
		Selector       any
		Template       struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	Automount       *bool          `yaml:"automountServiceAccountToken"`
	ServiceLinks    *bool          `yaml:"enableServiceLinks"`
	Grace           int            `yaml:"terminationGracePeriodSeconds"`
	RestartPolicy   string         `yaml:"restartPolicy"`
	SecurityContext map[string]any `yaml:"securityContext"`
	Containers      []struct {
		Image           string
		Args            []string
		Ports           []struct{ Name string }
		SecurityContext map[string]any `yaml:"securityContext"`
		Resources       struct{ Requests, Limits map[string]string }
		Startup         probe   `yaml:"startupProbe"`
		Liveness        probe   `yaml:"livenessProbe"`
		Readiness       probe   `yaml:"readinessProbe"`
		Mounts          []named `yaml:"volumeMounts"`
	}
	Volumes []named
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type named struct {
	Name string
	Path string `yaml:"mountPath"`
}

func manifests(t *testing.T, file string) (all []manifest) {
	t.Helper()
	for in := yaml.NewDecoder(strings.NewReader(packagingFile(t, file))); ; {
		var o manifest
		err := in.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, o)
	}
}

// R1, R2: the manifests have three nodes with probes, a budget for disruptions, a migration job, and
// containers without rights.
func TestR1ManifestsAreComplete(t *testing.T) {
	kinds := map[string]string{"ServiceAccount": "v1", "Service": "v1", "PodDisruptionBudget": "policy/v1",
		"Deployment": "apps/v1", "Job": "batch/v1"}
	for _, o := range append(manifests(t, "kubernetes/interlude.yaml"), manifests(t, "kubernetes/migrate.yaml")...) {
		require.Equal(t, kinds[o.Kind], o.APIVersion, o.Kind)
		delete(kinds, o.Kind)
		p := o.Spec.Template.Spec
		if o.Kind == "PodDisruptionBudget" {
			require.Equal(t, 1, o.Spec.MaxUnavailable)
		}
		if len(p.Containers) == 0 {
			continue
		}
		require.False(t, *p.Automount)
		require.False(t, *p.ServiceLinks, "its variables could be a flag's")
		require.Equal(t, true, p.SecurityContext["runAsNonRoot"])
		c := p.Containers[0]
		require.Equal(t, map[string]any{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}}}, c.SecurityContext)
		require.NotEmpty(t, c.Resources.Limits["memory"])
		for _, mount := range c.Mounts {
			isIt := func(v named) bool { return v.Name == mount.Name }
			require.True(t, slices.ContainsFunc(p.Volumes, isIt), mount.Name)
		}
		if o.Kind == "Job" {
			require.Equal(t, []string{"migrate"}, c.Args)
			continue
		}
		require.Equal(t, 3, o.Spec.Replicas)
		require.GreaterOrEqual(t, p.Grace, 10+45, "Config.Grace and the end of Serve")
		require.Equal(t, "/readyz", c.Readiness.HTTPGet.Path)
		for _, probe := range []probe{c.Startup, c.Liveness} {
			require.Equal(t, "/healthz", probe.HTTPGet.Path, "a node that is not ready may be ending its turns")
		}
	}
	require.Empty(t, kinds, "missing")
}

// R1: the unit is valid, and its sandbox is tight.
func TestR1TheUnitIsHardened(t *testing.T) {
	unit := packagingFile(t, "systemd/interlude.service")
	for _, line := range []string{"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict",
		"CapabilityBoundingSet=\n", "TimeoutStopSec=60"} {
		require.Contains(t, unit, line)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return // the lines above are all that can be checked
	}
	path := filepath.Join(t.TempDir(), "interlude.service")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(unit, "/usr/bin/interlude", self, 1)), 0o600))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, string(out))
	require.False(t, bytes.Contains(out, []byte("interlude.service")), string(out))
	out, err = exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", path).CombinedOutput()
	require.NoError(t, err, string(out))
}
