package render

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// Brand is the appearance of a host's pages (host/web and host/link). The zero Brand has interlude's
// logo and colors.
type Brand struct {
	// Name is shown in a page's header and title, and by the browser for the installed page. At most
	// 100 bytes.
	Name string
	// Logo is a square picture, as SVG, PNG, JPEG, WebP or GIF, of at most 256 KiB. Scripts in an SVG
	// are not run.
	Logo []byte
	// Color and DarkColor are the color of buttons, links and marks on the light and on the dark
	// page, like "#3454d1". Texts on a page have this color, so its contrast with the background
	// must be at least 4.5 (WCAG 2.2 AA).
	Color, DarkColor string
}

const (
	maxName     = 100
	maxLogo     = 256 << 10
	minContrast = 4.5
)

// theme is the pages in one color scheme; host/web's style.css has the same values. The background
// of host/link's page lies between the grounds.
type theme struct {
	grounds []rgb   // the backgrounds of text in the accent color
	surface rgb     // the background with which the tint is mixed
	part    float64 // of the accent in the tint
}

var (
	light = theme{[]rgb{{0xf6, 0xf6, 0xf4}, {0xff, 0xff, 0xff}}, rgb{0xff, 0xff, 0xff}, 0.09}
	dark  = theme{[]rgb{{0x12, 0x13, 0x15}, {0x20, 0x23, 0x27}}, rgb{0x1a, 0x1c, 0x1f}, 0.16}
)

// Validate returns an error for the first invalid field.
func (b *Brand) Validate() error {
	if len(b.Name) > maxName {
		return fmt.Errorf("render: Brand.Name has %d bytes, want at most %d", len(b.Name), maxName)
	}
	if len(b.Logo) > maxLogo {
		return fmt.Errorf("render: Brand.Logo has %d bytes, want at most %d", len(b.Logo), maxLogo)
	}
	if kind := b.LogoType(); !strings.HasPrefix(kind, "image/") {
		return fmt.Errorf("render: Brand.Logo is %s, want a picture: SVG, PNG, JPEG, WebP or GIF", kind)
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
			return fmt.Errorf("render: Brand.%s is %.40q, want a color like #3454d1", c.field, c.value)
		}
		for _, ground := range append(c.theme.grounds, c.theme.tint(color)) {
			if got := contrast(color, ground); got < minContrast {
				return fmt.Errorf("render: Brand.%s is %s, whose contrast with the background %s is %.2f, want %.1f "+
					"or more", c.field, c.value, ground, got, minContrast)
			}
		}
	}
	return nil
}

// LogoType returns the media type of the logo; without a logo, that of an SVG.
func (b *Brand) LogoType() string {
	logo := b.Logo
	text := bytes.TrimLeft(bytes.TrimPrefix(logo, []byte("\ufeff")), " \t\r\n")
	if len(logo) == 0 || bytes.HasPrefix(text, []byte("<svg")) ||
		bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text, []byte("<svg")) {
		return "image/svg+xml"
	}
	return http.DetectContentType(logo)
}

// Palette has the colors of one color scheme, like "#3454d1".
type Palette struct {
	Accent   string
	OnAccent string // text on the accent
	Tint     string // a background for text in the accent
}

// Palettes returns the colors of the light and the dark page; the zero Palette if the Brand has none.
func (b *Brand) Palettes() (lightColors, darkColors Palette) {
	return light.palette(b.Color), dark.palette(b.DarkColor)
}

func (t theme) palette(value string) Palette {
	color, ok := parseRGB(value)
	if !ok {
		return Palette{}
	}
	text := rgb{0xff, 0xff, 0xff}
	if black := (rgb{0x10, 0x11, 0x13}); contrast(color, black) > contrast(color, text) {
		text = black
	}
	return Palette{color.String(), text.String(), t.tint(color).String()}
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
