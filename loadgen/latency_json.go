package loadgen

import (
	"encoding/json"
	"math"
)

// latencyJSON is [Latency] with null for what does not exist.
type latencyJSON struct {
	Min    *float64 `json:"min"`
	Mean   *float64 `json:"mean"`
	Stddev *float64 `json:"stddev"`
	P50    *float64 `json:"p50"`
	P75    *float64 `json:"p75"`
	P90    *float64 `json:"p90"`
	P95    *float64 `json:"p95"`
	P99    *float64 `json:"p99"`
	P999   *float64 `json:"p999"`
	Max    *float64 `json:"max"`
}

// each pairs the figures of l with their places in j.
func (l *Latency) each(j *latencyJSON, f func(figure *float64, place **float64)) {
	f(&l.Min, &j.Min)
	f(&l.Mean, &j.Mean)
	f(&l.Stddev, &j.Stddev)
	f(&l.P50, &j.P50)
	f(&l.P75, &j.P75)
	f(&l.P90, &j.P90)
	f(&l.P95, &j.P95)
	f(&l.P99, &j.P99)
	f(&l.P999, &j.P999)
	f(&l.Max, &j.Max)
}

// MarshalJSON writes null for a figure that is NaN. Our engine has them all; a
// load generator of somebody else's may not.
func (l Latency) MarshalJSON() ([]byte, error) {
	var j latencyJSON
	l.each(&j, func(figure *float64, place **float64) {
		if !math.IsNaN(*figure) && !math.IsInf(*figure, 0) {
			*place = figure
		}
	})
	return json.Marshal(j)
}

// UnmarshalJSON makes NaN of null and of what is not there.
func (l *Latency) UnmarshalJSON(b []byte) error {
	var j latencyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	l.each(&j, func(figure *float64, place **float64) {
		*figure = math.NaN()
		if *place != nil {
			*figure = **place
		}
	})
	return nil
}
