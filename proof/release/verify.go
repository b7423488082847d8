package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// archiveName has the version, system and processor of an archive's name; the files of images have
// other names.
var archiveName = regexp.MustCompile(`^interlude_(.+)_(linux|darwin|windows)_(amd64|arm64)\.(tar\.gz|zip)$`)

// verify checks the program in each archive of a folder: most of them cannot be started here.
func verify(dir string, out io.Writer) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	checked := 0
	for _, f := range files {
		m := archiveName.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		program, err := programIn(filepath.Join(dir, f.Name()))
		if err == nil {
			err = checkProgram(program, m[2], m[3], "v"+m[1])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		checked++
	}
	if checked == 0 {
		return fmt.Errorf("%s has no archives", dir)
	}
	_, err = fmt.Fprintf(out, "release: the programs of %d archives are for their systems, and static\n", checked)
	return err
}

// programIn returns the content of the program in an archive.
func programIn(archive string) ([]byte, error) {
	isProgram := func(name string) bool {
		return slices.Contains([]string{"interlude", "interlude.exe"}, path.Base(name))
	}
	missing := errors.New("there is no program in it")
	if strings.HasSuffix(archive, ".zip") {
		files, err := zip.OpenReader(archive)
		if err != nil {
			return nil, err
		}
		defer func() { _ = files.Close() }()
		for _, f := range files.File {
			if isProgram(f.Name) {
				return fs.ReadFile(files, f.Name)
			}
		}
		return nil, missing
	}
	file, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, missing
		case err != nil:
			return nil, err
		case isProgram(header.Name):
			return io.ReadAll(files)
		}
	}
}

// checkProgram returns an error unless the program was built for the system and processor, with
// reproducible settings, needs no libraries that a fresh system lacks, and has the version.
func checkProgram(program []byte, system, processor, version string) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for _, want := range [][2]string{{"GOOS", system}, {"GOARCH", processor}, {"CGO_ENABLED", "0"},
		{"-trimpath", "true"}} {
		if have := settings[want[0]]; have != want[1] {
			return fmt.Errorf("it was built with %s=%s, want %s", want[0], have, want[1])
		}
	}
	if !bytes.Contains(program, []byte(version)) {
		return fmt.Errorf("it does not contain its version, %s", version)
	}
	var machine string
	var needs []string
	switch system {
	case "linux":
		machine, needs, err = ofELF(program)
	case "darwin":
		machine, needs, err = ofMachO(program)
	default:
		machine, needs, err = ofPE(program)
	}
	switch {
	case err != nil:
		return err
	case machine != processor:
		return fmt.Errorf("its format is for %s", machine)
	case len(needs) > 0:
		return fmt.Errorf("it needs %q", needs)
	}
	return nil
}

// ofELF returns the processor of a Linux program, and its shared libraries and interpreter.
func ofELF(program []byte) (machine string, needs []string, err error) {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", nil, err
	}
	needs, err = file.ImportedLibraries()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			needs = append(needs, "an interpreter")
		}
	}
	return map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[file.Machine], needs, err
}

// ofMachO returns the processor of a macOS program, and its libraries except the system libraries
// that every program needs. Apple's processors start only signed programs; the linker signs them.
func ofMachO(program []byte) (machine string, needs []string, err error) {
	file, err := macho.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", nil, err
	}
	needs, err = file.ImportedLibraries()
	needs = slices.DeleteFunc(needs, func(name string) bool {
		return strings.HasPrefix(name, "/usr/lib/") || strings.HasPrefix(name, "/System/Library/Frameworks/")
	})
	machine = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[file.Cpu]
	const codeSignature = 0x1d // LC_CODE_SIGNATURE
	signed := slices.ContainsFunc(file.Loads, func(l macho.Load) bool {
		return file.ByteOrder.Uint32(l.Raw()) == codeSignature
	})
	if machine == "arm64" && !signed {
		needs = append(needs, "a signature")
	}
	return machine, needs, err
}

// ofPE returns the processor of a Windows program, and its libraries except the system's.
func ofPE(program []byte) (machine string, needs []string, err error) {
	file, err := pe.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", nil, err
	}
	symbols, err := file.ImportedSymbols()
	for _, s := range symbols {
		if _, library, _ := strings.Cut(s, ":"); !strings.EqualFold(library, "kernel32.dll") {
			needs = append(needs, library)
		}
	}
	const console = 3 // IMAGE_SUBSYSTEM_WINDOWS_CUI
	if header, ok := file.OptionalHeader.(*pe.OptionalHeader64); !ok || header.Subsystem != console {
		needs = append(needs, "no console")
	}
	return map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[file.Machine],
		needs, err
}
