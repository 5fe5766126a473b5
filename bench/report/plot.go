package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/contention"
)

const (
	plotWidth  = 24 * vg.Centimeter
	plotHeight = 10 * vg.Centimeter
	plotGap    = 5 * vg.Millimeter

	// shortest is the left end of a plot's axis, which has no zero: what is shorter
	// stands there.
	shortest = 0.1 // ms
)

// strokes are the contenders' colours, told apart in grey, too, by their dashes.
var strokes = map[string]draw.LineStyle{
	contender.LibraryName:   {Color: color.RGBA{R: 0x1b, G: 0x6c, B: 0xa8, A: 0xff}, Width: vg.Points(1.8)},
	contender.RedsyncName:   {Color: color.RGBA{R: 0xc6, G: 0x4f, B: 0x2a, A: 0xff}, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(5), vg.Points(2)}},
	contender.RedislockName: {Color: color.RGBA{R: 0x4a, G: 0x7c, B: 0x3f, A: 0xff}, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(1.5), vg.Points(1.5)}},
}

// WritePlot draws the waits' cumulative distributions, with few processes and with a
// crowd, as SVG.
func (d *WaitDocument) WritePlot(w io.Writer) error {
	var panels []*plot.Plot
	for _, processes := range []int{contention.Few, d.Settings.Crowd} {
		p, err := d.panel(processes)
		if err != nil {
			return fmt.Errorf("report: plot: %w", err)
		}
		panels = append(panels, p)
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: plotGap, PadTop: plotGap, PadBottom: plotGap, PadLeft: plotGap, PadRight: plotGap}
	for i, where := range plot.Align([][]*plot.Plot{panels}, tiles, draw.New(canvas))[0] {
		panels[i].Draw(where)
	}
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: plot: %w", err)
	}
	return nil
}

func (d *WaitDocument) panel(processes int) (*plot.Plot, error) {
	p := plot.New()
	for _, text := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		text.Variant = "Sans"
	}
	p.Title.Text = fmt.Sprintf("%d processes, one key, held for %s", processes, span(d.Settings.Hold))
	p.X.Label.Text = "wait, ms"
	p.Y.Label.Text = "share of the waits that are over"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.YOffs = vg.Centimeter // below the lines, which are high up where they end
	p.Legend.Padding = vg.Millimeter
	p.Add(plotter.NewGrid())
	for _, row := range d.Results.Rows {
		if row.Processes != processes || row.Callers != 1 {
			continue
		}
		line, err := plotter.NewLine(distribution(row.Curve))
		if err != nil {
			return nil, err
		}
		line.LineStyle = strokes[row.Contender]
		p.Add(line)
		p.Legend.Add(row.Contender, line)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = shortest, d.longest(), 0, 1
	return p, nil
}

// longest is the right end of both axes, so that one can be held against the other: a
// power of ten with room beside the lines for the legend.
func (d *WaitDocument) longest() float64 {
	longest := 10.0
	for _, row := range d.Results.Rows {
		longest = max(longest, row.Curve[len(row.Curve)-1])
	}
	return math.Pow(10, math.Ceil(math.Log10(2*longest)))
}

// distribution turns quantiles into the points of a cumulative distribution.
func distribution(curve []float64) plotter.XYs {
	points := make(plotter.XYs, len(curve))
	for i, wait := range curve {
		points[i] = plotter.XY{X: max(wait, shortest), Y: float64(i) / float64(len(curve)-1)}
	}
	return points
}
