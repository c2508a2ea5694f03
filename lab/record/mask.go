package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A record is made to be shown and passed on, so it keeps no secrets: values of
// variables, flags and parameters whose names say that they are secret, and
// passwords in URLs, are replaced before run.json is written. Values that hold a
// placeholder ({{postgres_password}}) are none: the placeholder is what is kept.

// Mask stands where a secret was.
const Mask = "***"

var (
	secretName = regexp.MustCompile(`(?i)password|passwd|passphrase|secret|credential|(?:token|key|_pwd|auth)(?:[^a-z]|$)|^(?:proxy-)?authorization$|^cookie$`)
	// assignment is name=value in flags, query strings and DSNs, of a name that may
	// be secret: others would swallow what follows them in a query string.
	assignment = regexp.MustCompile(`([A-Za-z0-9_.-]*(?i:password|passwd|passphrase|secret|credential|token|key|pwd|auth)[A-Za-z0-9_.-]*)(\s*=\s*)('[^']*'|"[^"]*"|[^\s&;,"']+)`)
	jsonMember = regexp.MustCompile(`"([^"\\]+)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`)
	header     = regexp.MustCompile(`^([A-Za-z0-9-]+)(:\s*)(.+)$`)
	userInfo   = regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s/:@]*):([^\s/@]+)@`)
)

// IsSecret tells by its name whether a variable, flag or parameter holds a secret.
func IsSecret(name string) bool { return secretName.MatchString(name) }

// MaskText masks what looks like a secret inside a text: the password of a URL,
// and the value of password=… or "password": "…".
func MaskText(text string) string {
	text = userInfo.ReplaceAllStringFunc(text, func(m string) string {
		parts := userInfo.FindStringSubmatch(m)
		return parts[1] + ":" + masked(parts[2]) + "@"
	})
	for _, form := range []*regexp.Regexp{assignment, jsonMember} {
		text = form.ReplaceAllStringFunc(text, func(m string) string {
			parts := form.FindStringSubmatch(m)
			if !IsSecret(parts[1]) || masked(parts[3]) != Mask {
				return m
			}
			if form == jsonMember {
				return `"` + parts[1] + `"` + parts[2] + `"` + Mask + `"`
			}
			return parts[1] + parts[2] + Mask
		})
	}
	return text
}

func masked(value string) string {
	if strings.Contains(value, "{{") || value == "" {
		return value
	}
	return Mask
}

// MaskArgs masks the secrets in the words of a command line, also where a flag
// and its value are two words and where a value has blanks.
func MaskArgs(words []string) []string {
	if words == nil {
		return nil
	}
	safe := make([]string, len(words))
	for i, word := range words {
		name, value, assigned := strings.Cut(word, "=")
		flag := strings.HasPrefix(word, "-")
		parts := header.FindStringSubmatch(word)
		switch {
		case assigned && IsSecret(name) && !strings.ContainsAny(name, " ?&/"):
			safe[i] = name + "=" + masked(value)
		case !flag && i > 0 && isSecretFlag(words[i-1]):
			safe[i] = masked(word)
		case parts != nil && IsSecret(parts[1]):
			safe[i] = parts[1] + parts[2] + masked(parts[3])
		default:
			safe[i] = MaskText(word)
		}
	}
	return safe
}

// isSecretFlag tells whether a word is a flag whose value comes as the next word.
func isSecretFlag(word string) bool {
	return strings.HasPrefix(word, "--") && !strings.Contains(word, "=") && IsSecret(word)
}

// MaskEnv masks the secrets in an environment.
func MaskEnv(env map[string]string) map[string]string {
	safe := maps.Clone(env)
	for name, value := range safe {
		if IsSecret(name) {
			safe[name] = masked(value)
		} else {
			safe[name] = MaskText(value)
		}
	}
	return safe
}

// MaskMachine masks the secrets in the environment of a machine.
func MaskMachine(m Machine) Machine {
	m.Env = MaskEnv(m.Env)
	return m
}

// maskRun is a copy of run without secrets. Calibration holds none, but
// histograms that no pattern may touch.
func maskRun(run Run) (Run, error) {
	calibration := run.Calibration
	run.Calibration = nil
	body, _, err := marshal(&run, "")
	if err != nil {
		return run, err
	}
	var safe Run
	if err := json.Unmarshal(body, &safe); err != nil {
		return run, err
	}
	maskValue(reflect.ValueOf(&safe).Elem())
	safe.Calibration = calibration
	return safe, nil
}

// maskValue masks every string below v, in place: new fields of the record are
// covered without anybody having to remember.
func maskValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			maskValue(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				maskValue(field)
			}
		}
	case reflect.Slice:
		if words, ok := v.Interface().([]string); ok {
			v.Set(reflect.ValueOf(MaskArgs(words)))
			return
		}
		for i := range v.Len() {
			maskValue(v.Index(i))
		}
	case reflect.Map:
		if env, ok := v.Interface().(map[string]string); ok {
			v.Set(reflect.ValueOf(MaskEnv(env)))
			return
		}
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			maskValue(value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(MaskText(v.String()))
	}
}

// Masked names the first setting of an experiment that was masked, or "": such a
// run cannot be repeated from its record.
func Masked(e Experiment) string {
	e.Published, e.Claims, e.Source, e.Title, e.Question = nil, nil, nil, "", "" // no settings
	body, _, err := marshal(&e, "")
	if err != nil {
		return ""
	}
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return ""
	}
	return findMask("", tree)
}

func findMask(path string, v any) string {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, Mask) {
			return path
		}
	case []any:
		for i, element := range v {
			if found := findMask(fmt.Sprintf("%s[%d]", path, i), element); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found := findMask(strings.TrimPrefix(path+"."+key, "."), v[key]); found != "" {
				return found
			}
		}
	}
	return ""
}

// shortestSecret is the length below which a value is not searched in logs: it
// would be found in every second line.
const shortestSecret = 6

// Secrets are the values that must not get into logs: those of an environment
// ("NAME=value", nil: this process's own) and of a command line.
func Secrets(env, argv []string) []string {
	if env == nil {
		env = os.Environ()
	}
	var found []string
	add := func(value string) {
		if len(value) >= shortestSecret && masked(value) == Mask && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	inText := func(text string) {
		for _, m := range userInfo.FindAllStringSubmatch(text, -1) {
			add(m[2])
		}
		for _, m := range assignment.FindAllStringSubmatch(text, -1) {
			if IsSecret(m[1]) {
				add(strings.Trim(m[3], `'"`))
			}
		}
	}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if IsSecret(name) {
			add(value)
		}
		inText(value)
	}
	for i, word := range argv {
		if name, value, ok := strings.Cut(word, "="); ok && IsSecret(name) && !strings.ContainsAny(name, " ?&/") {
			add(value)
		}
		if i > 0 && isSecretFlag(argv[i-1]) && !strings.HasPrefix(word, "-") {
			add(word)
		}
		inText(word)
	}
	return found
}
