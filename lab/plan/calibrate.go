package plan

import (
	"os/exec"
	"slices"
	"time"

	"loomlab/lab/experiment"
	"loomlab/lab/record"
)

// Calibrates tells whether the run begins with a calibration.
func (p *Plan) Calibrates() bool {
	return p.Experiment.Downstream != nil && slices.ContainsFunc(p.SUTs, func(s SUT) bool { return s.Downstream != nil }) &&
		len(p.CalibrationLoad().Connections) > 0
}

// CalibrationLoad is our engine in a closed loop at every rung that any SUT has,
// for a short window.
func (p *Plan) CalibrationLoad() record.Load {
	l := p.Experiment.Load
	l.Duration = record.Duration(calibrationLength(time.Duration(l.Duration), p.Experiment.Quick))
	l.Requests, l.Targets, l.Command, l.Rate, l.Connections = 0, nil, nil, nil, nil
	for _, rung := range p.Experiment.Rungs() {
		if rung.Connections > 0 {
			l.Connections = append(l.Connections, rung.Connections)
		}
	}
	return l
}

// Bare stands in the place of a SUT where there is none. A downstream that is a
// command may need what the SUTs have.
func (p *Plan) Bare() *SUT {
	one := 1.0
	s := SUT{Kind: record.KindURL, SUT: record.SUT{Name: record.Calibration, Calls: &one,
		Path: p.Experiment.Load.Path, Downstream: p.Experiment.Downstream, Netns: p.Experiment.Netns}}
	for _, other := range p.SUTs {
		if s.JDKHome == "" {
			s.JDKHome = other.JDKHome
		}
		if s.Apps == "" {
			s.Apps = other.Apps
		}
	}
	return &s
}

// Startable is false for a command that is certainly not there: whoever mistyped
// it need not wait for a calibration to learn so.
func (p *Plan) Startable(s SUT) bool {
	if len(s.Words) == 0 || p.Launcher(&s.SUT, record.TierSUT).Host != "" || experiment.PlaceholderPattern.MatchString(s.Words[0]) {
		return true
	}
	_, err := exec.LookPath(s.Words[0])
	return err == nil
}

// calibrationWindow is how long a rung of the calibration is measured.
const calibrationWindow = 2 * time.Second

// calibrationLength is at most calibrationWindow, and no longer than the run's own
// windows; 0 are windows of a number of requests.
func calibrationLength(window time.Duration, quick bool) time.Duration {
	if window == 0 {
		return calibrationWindow
	}
	if quick {
		return min(window, time.Second)
	}
	return min(window, calibrationWindow)
}
