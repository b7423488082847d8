package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/host/web/internal/page"
)

// Brand is the host's appearance of the page. The zero Brand is interlude's.
type Brand struct {
	// Name is shown in the page's header and title, and by the browser for the installed page. At most
	// 100 bytes.
	Name string
	// Logo is a square picture, as SVG, PNG, JPEG, WebP or GIF, of at most 256 KiB. Scripts in an SVG
	// are not run.
	Logo []byte
	// Color and DarkColor are the color of buttons, links and marks on the light and on the dark
	// page, like "#3454d1". Texts on the page have this color, so its contrast with the background
	// must be at least 4.5 (WCAG 2.2 AA).
	Color, DarkColor string
}

const (
	maxName     = 100
	maxLogo     = 256 << 10
	minContrast = 4.5
)

// theme is the page in one color scheme; assets/style.css has the same values.
type theme struct {
	grounds []rgb   // the backgrounds of text in the accent color
	surface rgb     // the background with which the tint is mixed
	part    float64 // of the accent in the tint
}

var (
	light = theme{[]rgb{{0xf6, 0xf6, 0xf4}, {0xff, 0xff, 0xff}}, rgb{0xff, 0xff, 0xff}, 0.09}
	dark  = theme{[]rgb{{0x12, 0x13, 0x15}, {0x20, 0x23, 0x27}}, rgb{0x1a, 0x1c, 0x1f}, 0.16}
)

// Validate returns an error for the first invalid field. Handler panics with this error.
func (b *Brand) Validate() error {
	if len(b.Name) > maxName {
		return fmt.Errorf("web: Brand.Name has %d bytes, want at most %d", len(b.Name), maxName)
	}
	if len(b.Logo) > maxLogo {
		return fmt.Errorf("web: Brand.Logo has %d bytes, want at most %d", len(b.Logo), maxLogo)
	}
	if kind := logoType(b.Logo); !strings.HasPrefix(kind, "image/") {
		return fmt.Errorf("web: Brand.Logo is %s, want a picture: SVG, PNG, JPEG, WebP or GIF", kind)
	}
	for _, c := range []struct {
		field, value string
		theme        theme
	}{{"Color", b.Color, light}, {"DarkColor", b.DarkColor, dark}} {
		if c.value == "" {
			continue
		}
		color, ok := parseRGB(c.value)
		if !ok {
			return fmt.Errorf("web: Brand.%s is %.40q, want a color like #3454d1", c.field, c.value)
		}
		for _, ground := range append(c.theme.grounds, c.theme.tint(color)) {
			if got := contrast(color, ground); got < minContrast {
				return fmt.Errorf("web: Brand.%s is %s, whose contrast with the background %s is %.2f, want %.1f or "+
					"more", c.field, c.value, ground, got, minContrast)
			}
		}
	}
	return nil
}

func logoType(logo []byte) string {
	text := bytes.TrimLeft(bytes.TrimPrefix(logo, []byte("\ufeff")), " \t\r\n")
	if len(logo) == 0 || bytes.HasPrefix(text, []byte("<svg")) ||
		bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text, []byte("<svg")) {
		return "image/svg+xml"
	}
	return http.DetectContentType(logo)
}

// file is a file of the page, as it is served.
type file struct {
	kind string
	body []byte
}

// pageFiles returns the files of the page by name, with the brand.
func pageFiles(b *Brand) map[string]file {
	entries, err := fs.ReadDir(page.Files, ".")
	if err != nil {
		panic(err) // an embedded folder
	}
	files := make(map[string]file, len(entries))
	for _, entry := range entries {
		body, err := fs.ReadFile(page.Files, entry.Name())
		if err != nil {
			panic(err)
		}
		kind := mime.TypeByExtension(path.Ext(entry.Name()))
		if path.Ext(entry.Name()) == ".webmanifest" { // not every system knows it
			kind = "application/manifest+json"
		}
		files[entry.Name()] = file{kind, body}
	}
	const logo = "icon.svg"
	files["logo"] = files[logo]
	if len(b.Logo) > 0 {
		files["logo"] = file{logoType(b.Logo), b.Logo}
	}
	delete(files, logo)
	files["brand.css"] = file{files["style.css"].kind, []byte(b.css())}
	if b.Name != "" {
		name := html.EscapeString(b.Name)
		replace(files, "index.html", ">interlude<", ">"+name+"<", `"interlude"`, `"`+name+`"`)
		quoted, _ := json.Marshal(b.Name)
		replace(files, "manifest.webmanifest", `"interlude"`, string(quoted))
	}
	if b.Color != "" {
		replace(files, "manifest.webmanifest", "#3454d1", b.Color)
	}
	return files
}

func replace(files map[string]file, name string, pairs ...string) {
	f := files[name]
	f.body = []byte(strings.NewReplacer(pairs...).Replace(string(f.body)))
	files[name] = f
}

// css replaces the colors of style.css.
func (b *Brand) css() string {
	if b.Color == "" && b.DarkColor == "" {
		return ""
	}
	of := func(value, accent, on, tint string, t theme) [3]string {
		color, ok := parseRGB(value)
		if !ok {
			return [3]string{accent, on, tint}
		}
		text := rgb{0xff, 0xff, 0xff}
		if black := (rgb{0x10, 0x11, 0x13}); contrast(color, black) > contrast(color, text) {
			text = black
		}
		return [3]string{color.String(), text.String(), t.tint(color).String()}
	}
	l := of(b.Color, "#3454d1", "#ffffff", "#eef1fd", light)
	d := of(b.DarkColor, "#9db2ff", "#10163a", "#232a45", dark)
	var css strings.Builder
	css.WriteString(":root {")
	for i, name := range []string{"accent", "on-accent", "tint"} {
		fmt.Fprintf(&css, " --%s: light-dark(%s, %s);", name, l[i], d[i])
	}
	css.WriteString(" }\n")
	return css.String()
}

// rgb is a color.
type rgb [3]uint8

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

func parseRGB(text string) (c rgb, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil && len(text) == 7 && text[0] == '#'
}

// tint mixes the color with the theme's surface, for backgrounds.
func (t theme) tint(c rgb) (mixed rgb) {
	for i := range c {
		mixed[i] = uint8(math.Round(t.part*float64(c[i]) + (1-t.part)*float64(t.surface[i])))
	}
	return mixed
}

// contrast is the contrast ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b rgb) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func (c rgb) luminance() float64 {
	linear := func(n uint8) float64 {
		v := float64(n) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
