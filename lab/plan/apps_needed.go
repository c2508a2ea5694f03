package plan

import "loomlab/lab/java"

// lookForApps decides that no app can run where one of them is neither built nor
// can be: the others beside its stand-in would be a comparison of two worlds.
func (p *Plan) lookForApps() {
	if p.Facts.NoApps != "" || p.Facts.NoMaven == "" {
		return
	}
	for _, s := range p.Experiment.SUTs {
		if len(java.AppsOf(s)) > 0 && (p.Facts.FindApps == nil || p.Facts.FindApps(s) == "") {
			p.Facts.NoApps = p.Facts.NoMaven
		}
	}
}
