package plan

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"loomlab/lab/java"
	"loomlab/lab/record"
)

// version is one combination of the JDKs and Boot versions that the flags ask
// for; "" leaves a SUT's own.
type version struct{ jdk, boot string }

// versions are the combinations, in the order of the flags; one empty one without flags.
func (o *Options) versions() []version {
	jdks, boots := o.JDK, o.Boot
	if len(jdks) == 0 {
		jdks = []string{""}
	}
	if len(boots) == 0 {
		boots = []string{""}
	}
	var list []version
	for _, jdk := range jdks {
		for _, boot := range boots {
			list = append(list, version{jdk, boot})
		}
	}
	return list
}

// multiply puts each SUT that runs on a JDK, or is built with Spring Boot, on
// every version asked for. A single one replaces the SUT's own; several make as
// many SUTs, each with its version in its name, such as virtual-jdk21, which then
// carry the published figures and the claims of the one they are versions of.
func (o *Options) multiply(e *record.Experiment, own map[string]bool, planned func(record.SUT) SUT) error {
	if err := o.checkVersions(); err != nil {
		return err
	}
	combinations := o.versions()
	names := make([]map[string]string, len(combinations)) // by combination: a SUT's name, and its version's
	var suts []record.SUT
	for _, s := range e.SUTs {
		for i, v := range combinations {
			of := o.at(planned(s), v)
			if names[i] == nil {
				names[i] = map[string]string{}
			}
			names[i][s.Name] = of.Name
			if j := slices.IndexFunc(suts, func(x record.SUT) bool { return x.Name == of.Name }); j >= 0 {
				if suts[j].Of == of.Of && suts[j].JDK == of.JDK && suts[j].Boot == of.Boot {
					continue // it is not built with Boot, or runs on no JDK of ours
				}
				return fmt.Errorf("--jdk and --boot make a second SUT %s; give one of the values in other words, or rename the SUT", of.Name)
			}
			suts = append(suts, of)
			own[of.Name] = own[s.Name]
		}
	}
	e.SUTs = suts
	if len(combinations) > 1 {
		e.Published = publishedOf(e.Published, names)
		e.Claims = claimsOf(e.Claims, names, o.suffixes())
	}
	return nil
}

// at is the SUT on one version.
func (o *Options) at(planned SUT, v version) record.SUT {
	s := planned.SUT
	name := s.Name
	if planned.NeedsJDK() && v.jdk != "" {
		s.JDK = v.jdk
		if len(o.JDK) > 1 {
			name += jdkSuffix(v.jdk)
		}
	}
	if planned.NeedsBoot() && v.boot != "" {
		s.Boot = v.boot
		if len(o.Boot) > 1 {
			name += bootSuffix(v.boot)
		}
	}
	if name != s.Name {
		s.Of, s.Name = s.Name, name
		s.Env = maps.Clone(s.Env)
	}
	return s
}

// checkVersions refuses a version that is asked for twice.
func (o *Options) checkVersions() error {
	for _, f := range []struct {
		flag   string
		values []string
	}{{"--jdk", o.JDK}, {"--boot", o.Boot}} {
		for i, v := range f.values {
			switch {
			case v == "":
				return fmt.Errorf("%s: an empty value; want a version or, for --jdk, the folder of a JDK", f.flag)
			case slices.Contains(f.values[:i], v):
				return fmt.Errorf("%s %s is asked for twice", f.flag, v)
			}
		}
	}
	return nil
}

// suffixes say in a few letters what each combination is.
func (o *Options) suffixes() []string {
	var list []string
	for _, v := range o.versions() {
		text := ""
		if len(o.JDK) > 1 {
			text += jdkSuffix(v.jdk)
		}
		if len(o.Boot) > 1 {
			text += bootSuffix(v.boot)
		}
		list = append(list, strings.TrimPrefix(text, "-"))
	}
	return list
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// jdkSuffix is "-jdk21" for a version, and the folder's name for a path.
func jdkSuffix(spec string) string {
	if java.VersionPattern.MatchString(spec) {
		return "-jdk" + spec
	}
	folder := filepath.Base(filepath.Clean(spec))
	if folder == "java" { // bin/java of a home
		folder = filepath.Base(filepath.Dir(filepath.Dir(filepath.Clean(spec))))
	}
	return "-" + strings.Trim(notInNames.ReplaceAllString(folder, "_"), "-._")
}

func bootSuffix(boot string) string { return "-boot" + notInNames.ReplaceAllString(boot, "_") }

// publishedOf repeats the author's rows for each version of their SUT.
func publishedOf(rows []record.Published, names []map[string]string) []record.Published {
	var all []record.Published
	for _, row := range rows {
		var made []string
		for _, of := range names {
			name := of[row.SUT]
			if name == "" {
				name = row.SUT
			}
			if !slices.Contains(made, name) {
				made = append(made, name)
				copied := row
				copied.SUT = name
				all = append(all, copied)
			}
		}
	}
	return all
}

// claimsOf repeats each claim for every combination of versions. A claim names
// its SUTs in quotes, so that is where the names are replaced.
func claimsOf(claims []record.Claim, names []map[string]string, suffixes []string) []record.Claim {
	var all []record.Claim
	for _, claim := range claims {
		for i, of := range names {
			expr := claim.Expr
			for name, version := range of {
				for _, quote := range []string{"'", `"`} {
					expr = strings.ReplaceAll(expr, quote+name+quote, quote+version+quote)
				}
			}
			if expr == claim.Expr {
				all = append(all, claim)
				break // it names no SUT that has versions
			}
			copied := claim
			copied.Expr, copied.Text = expr, fmt.Sprintf("%s (%s)", claim.Text, suffixes[i])
			all = append(all, copied)
		}
	}
	return all
}
