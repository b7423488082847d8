package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"path"
	"strings"

	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/host/web/internal/page"
)

// Brand is the host's appearance of the page. Handler panics if it is invalid.
type Brand = render.Brand

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
		files["logo"] = file{b.LogoType(), b.Logo}
	}
	delete(files, logo)
	files["brand.css"] = file{files["style.css"].kind, []byte(brandCSS(b))}
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

// brandCSS replaces the colors of style.css.
func brandCSS(b *Brand) string {
	l, d := b.Palettes()
	if l == d { // both are empty
		return ""
	}
	l, d = cmp.Or(l, render.Palette{Accent: "#3454d1", OnAccent: "#ffffff", Tint: "#eef1fd"}),
		cmp.Or(d, render.Palette{Accent: "#9db2ff", OnAccent: "#10163a", Tint: "#232a45"})
	return fmt.Sprintf(":root { --accent: light-dark(%s, %s); --on-accent: light-dark(%s, %s); "+
		"--tint: light-dark(%s, %s); }\n", l.Accent, d.Accent, l.OnAccent, d.OnAccent, l.Tint, d.Tint)
}
