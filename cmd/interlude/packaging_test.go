package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
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

// R1: the configuration in compose.yaml is valid, and its containers have no rights.
func TestR1ComposeIsComplete(t *testing.T) {
	var file struct {
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
	in := yaml.NewDecoder(strings.NewReader(packagingFile(t, "compose.yaml")))
	in.KnownFields(true)
	require.NoError(t, in.Decode(&file))
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
	host := regexp.MustCompile(`\$\{TOKEN_HASH[^}]*\}`).ReplaceAllString(file.Configs["host"].Content, hashOf("x"))
	path := filepath.Join(t.TempDir(), "host.json")
	require.NoError(t, os.WriteFile(path, []byte(host), 0o600))
	read, err := readHostFile(path)
	require.NoError(t, err)
	require.NotNil(t, read.SignIn)
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
