package interaction

import (
	"fmt"
	"io/fs"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/fsm"
)

// Limits of a question's files.
const (
	MaxFiles     = 16       // per question
	MaxFileSize  = 16 << 20 // in bytes
	MaxFileName  = 255      // in bytes
	MaxFilePath  = 1 << 10  // in bytes
	maxMediaType = 127      // in bytes
)

// Files are the files and pictures of a question, in the run's artifacts. Only engines set them,
// never an agent's text. They are kept as long as the run's folder.
type Files struct {
	// Host is the machine that has them, for a message on machines that do not; may be empty. It is
	// not part of the Digest.
	Host string `json:"host"`
	// List has 1 to MaxFiles files.
	List []File `json:"list,omitempty"`
}

// File describes a file of a question. A file whose content has changed since is not served.
type File struct {
	// Name is shown, and suggested for downloads: at most MaxFileName bytes, without slashes and
	// without characters that a display hides or confuses (Visible).
	Name string `json:"name"`
	// MediaType is the type and subtype in lower case, without parameters. It only decides how the
	// file is displayed: content of another type is offered for download.
	MediaType string `json:"media_type"`
	// Size is in bytes, at most MaxFileSize. SHA256 of the content is in lower-case hexadecimal.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Path is the file's path below the run's folder artifacts, with slashes, at most MaxFilePath
	// bytes.
	Path string `json:"path"`
}

// Validate returns an error that names the invalid file and field; nil Files are valid.
func (f *Files) Validate() error {
	if f == nil {
		return nil
	}
	if len(f.List) == 0 || len(f.List) > MaxFiles {
		return fmt.Errorf("%d files, want 1 to %d", len(f.List), MaxFiles)
	}
	if host, _ := cut(f.Host, MaxFileName); host != f.Host || Visible(host) != host {
		return fmt.Errorf("the files' host is %.40q, want a visible name of at most %d bytes", f.Host, MaxFileName)
	}
	for i := range f.List {
		if err := f.List[i].validate(); err != nil {
			return fmt.Errorf("file %d: %w", i+1, err)
		}
	}
	return nil
}

func (f *File) validate() error {
	switch media, parameters, err := mime.ParseMediaType(f.MediaType); {
	case f.Name == "" || len(f.Name) > MaxFileName || !utf8.ValidString(f.Name):
		return fmt.Errorf("the name has %d bytes, want 1 to %d of UTF-8", len(f.Name), MaxFileName)
	case strings.ContainsAny(f.Name, "/\\\x00") || f.Name == "." || f.Name == "..":
		return fmt.Errorf("the name is %q, want one without slashes", f.Name)
	case Visible(f.Name) != f.Name || strings.TrimSpace(f.Name) != f.Name:
		return fmt.Errorf("the name is %q, want one of visible characters", Visible(f.Name))
	case err != nil || media != f.MediaType || len(parameters) > 0 || !strings.Contains(media, "/") ||
		len(media) > maxMediaType:
		return fmt.Errorf("%s: the media type is %.40q, want a type and subtype in lower case", f.Name, f.MediaType)
	case f.Size < 0 || f.Size > MaxFileSize:
		return fmt.Errorf("%s: %d bytes, want at most %d", f.Name, f.Size, MaxFileSize)
	case len(f.SHA256) != 64 || strings.Trim(f.SHA256, "0123456789abcdef") != "":
		return fmt.Errorf("%s: the SHA-256 is %.80q, want 64 digits in lower-case hexadecimal", f.Name, f.SHA256)
	case !fs.ValidPath(f.Path) || f.Path == "." || len(f.Path) > MaxFilePath || strings.ContainsAny(f.Path, "\\:\x00"):
		return fmt.Errorf("%s: the path is %.80q, want one below the run's artifacts, with slashes", f.Name, f.Path)
	}
	return nil
}

// Clone returns a copy.
func (f *Files) Clone() *Files {
	if f == nil {
		return nil
	}
	return &Files{f.Host, append([]File(nil), f.List...)}
}

// All returns the files; none of nil.
func (f *Files) All() []File {
	if f == nil {
		return nil
	}
	return f.List
}

// files copies the files. Invalid ones are left out together: a question about some of its files is
// another question.
func (n *normalizer) files(f *Files) *Files {
	if err := f.Validate(); err != nil {
		n.diagnose(fsm.WarnAskUserMalformed, "the files are left out: "+err.Error())
		return nil
	}
	return f.Clone()
}
