package pagetest

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Camera is the picture in front of a Chromium's camera: a film of one frame in
// a file, which the browser reads anew for each frame that it takes. Showing
// something overwrites that frame where it is.
type Camera struct {
	t             testing.TB
	file          *os.File
	head          int64
	width, height int
	luma          []byte
}

// ground is the grey around what is shown.
const ground = 90

// NewCamera makes a camera of that resolution which sees nothing but grey.
func NewCamera(t testing.TB, width, height int) *Camera {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "camera.y4m"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	head := fmt.Sprintf("YUV4MPEG2 W%d H%d F30:1 Ip A1:1 C420\nFRAME\n", width, height)
	c := &Camera{t: t, file: file, head: int64(len(head)), width: width, height: height, luma: make([]byte, width*height)}
	chroma := bytes.Repeat([]byte{128}, width*height/2)
	if _, err := file.Write(bytes.Join([][]byte{[]byte(head), c.luma, chroma}, nil)); err != nil {
		t.Fatal(err)
	}
	c.Dark()
	return c
}

// Flags start a Chromium that has this camera and is allowed to use it.
func (c *Camera) Flags() map[string]any {
	return map[string]any{
		"use-fake-ui-for-media-stream":     true,
		"use-fake-device-for-media-stream": true,
		"use-file-for-fake-video-capture":  c.file.Name(),
	}
}

// Dark shows nothing.
func (c *Camera) Dark() { c.Picture(func(_, _ int) byte { return ground }) }

// Picture shows what the function gives for each pixel.
func (c *Camera) Picture(at func(x, y int) byte) {
	c.t.Helper()
	for y := range c.height {
		for x := range c.width {
			c.luma[y*c.width+x] = at(x, y)
		}
	}
	c.write()
}

// Screen shows a screenshot (JPEG) in the middle of the picture.
func (c *Camera) Screen(shot []byte) error {
	decoded, err := jpeg.Decode(bytes.NewReader(shot))
	if err != nil {
		return err
	}
	colours, ok := decoded.(*image.YCbCr)
	if !ok {
		return fmt.Errorf("a screenshot of type %T", decoded)
	}
	size := colours.Rect.Size()
	if size.X > c.width || size.Y > c.height {
		return fmt.Errorf("a screenshot of %v does not fit", size)
	}
	for i := range c.luma {
		c.luma[i] = ground
	}
	left, top := (c.width-size.X)/2, (c.height-size.Y)/2
	for y := range size.Y {
		copy(c.luma[(top+y)*c.width+left:], colours.Y[y*colours.YStride:][:size.X])
	}
	c.write()
	return nil
}

func (c *Camera) write() {
	if _, err := c.file.WriteAt(c.luma, c.head); err != nil {
		c.t.Errorf("write the camera's frame: %v", err)
	}
}

// View is how a printed or displayed code stands before the camera.
type View struct {
	Module float64 // width of a module in pixels, where it is nearest
	Turned float64 // in the plane of the picture, in degrees
	Leant  float64 // away from the camera, about the upright axis, in degrees
	Blur   float64 // standard deviation of a Gaussian blur, in pixels
}

// Symbol shows a QR symbol: dark on a white card with the quiet zone, as a lens
// sees it that gathers each pixel from nine points.
func (c *Camera) Symbol(modules [][]bool, view View) {
	c.t.Helper()
	const quiet = 4
	side := float64(len(modules) + 2*quiet)
	sin, cos := math.Sincos(view.Turned * math.Pi / 180)
	sinLean, cosLean := math.Sincos(view.Leant * math.Pi / 180)
	distance := 3 * side // of the eye, in modules
	near := (distance - side/2*sinLean) / distance
	point := func(x, y float64) byte {
		// From the picture's plane back to the card's, in modules from its middle.
		x, y = (x*cos+y*sin)/(view.Module*near), (y*cos-x*sin)/(view.Module*near)
		depth := distance / (distance*cosLean - x*sinLean)
		u := x * depth
		v := y * (1 + u*sinLean/distance)
		column, row := int(math.Floor(u+side/2))-quiet, int(math.Floor(v+side/2))-quiet
		switch {
		case math.Abs(u) > side/2 || math.Abs(v) > side/2:
			return ground
		case column >= 0 && column < len(modules) && row >= 0 && row < len(modules) && modules[row][column]:
			return 16
		}
		return 235
	}
	// The square in which the card lies however it is turned.
	reach := min(int(side*view.Module*0.75+4*view.Blur), c.width/2, c.height/2)
	picture := make([]float64, 4*reach*reach)
	for i := range picture {
		x, y := float64(i%(2*reach)-reach), float64(i/(2*reach)-reach)
		var sum float64
		for _, dy := range []float64{1. / 6, .5, 5. / 6} {
			for _, dx := range []float64{1. / 6, .5, 5. / 6} {
				sum += float64(point(x+dx, y+dy))
			}
		}
		picture[i] = sum / 9
	}
	picture = blur(picture, 2*reach, view.Blur)
	left, top := c.width/2-reach, c.height/2-reach
	c.Picture(func(x, y int) byte {
		if x -= left; x < 0 || x >= 2*reach {
			return ground
		}
		if y -= top; y < 0 || y >= 2*reach {
			return ground
		}
		return byte(math.Round(picture[y*2*reach+x]))
	})
}

// blur is a Gaussian blur in both directions; the edges repeat.
func blur(picture []float64, width int, sigma float64) []float64 {
	if sigma == 0 {
		return picture
	}
	radius := int(math.Ceil(3 * sigma))
	weights := make([]float64, 2*radius+1)
	var total float64
	for i := range weights {
		d := float64(i - radius)
		weights[i] = math.Exp(-d * d / (2 * sigma * sigma))
		total += weights[i]
	}
	height := len(picture) / width
	pass := func(from []float64, dx, dy int) []float64 {
		to := make([]float64, len(from))
		for y := range height {
			for x := range width {
				var sum float64
				for i, weight := range weights {
					nx := min(max(x+dx*(i-radius), 0), width-1)
					ny := min(max(y+dy*(i-radius), 0), height-1)
					sum += weight * from[ny*width+nx]
				}
				to[y*width+x] = sum / total
			}
		}
		return to
	}
	return pass(pass(picture, 1, 0), 0, 1)
}
