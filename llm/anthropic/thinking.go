package anthropic

import (
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/planmode-dev/planmode/llm"
)

// A family of models takes thinking in one way. Sources: the model pages and migration guides on
// platform.claude.com (thinking, effort).
type family struct {
	prefix   string
	adaptive bool // effort levels; otherwise token budgets
	off      off
}

// off is how thinking is turned off.
type off int

const (
	offOmit         off = iota // the model thinks only when told to
	offDisabled                // it thinks unless told not to
	offBetweenTools            // it only notes between tool calls
	offLowest                  // it cannot be turned off; the lowest effort comes nearest
)

// families are tried in this order: longer prefixes stand before shorter ones.
var families = []family{
	{"claude-3", false, offOmit},
	{"claude-opus-4-6", true, offOmit},
	{"claude-opus-4-7", true, offOmit},
	{"claude-opus-4-8", true, offOmit},
	{"claude-sonnet-4-6", true, offOmit},
	{"claude-opus-4", false, offOmit},
	{"claude-sonnet-4", false, offOmit},
	{"claude-haiku-4", false, offOmit},
	{"claude-sonnet-5-5", true, offBetweenTools},
	{"claude-haiku-5-5", true, offDisabled},
	{"claude-opus-5-5", true, offLowest},
	{"claude-opus-5", true, offDisabled},
	{"claude-sonnet-5", true, offDisabled},
	{"claude-", true, offLowest}, // Fable, Mythos and what comes later
	{"", false, offOmit},         // other vendors' models behind a compatible server
}

func familyOf(model string) family {
	for _, f := range families {
		if strings.HasPrefix(model, f.prefix) {
			return f
		}
	}
	return family{}
}

// budgets in tokens, for models that take no effort. The API's least is 1024.
var budgets = map[llm.ThinkingLevel]int64{
	llm.ThinkingLow: 4096, llm.ThinkingMedium: 10_000, llm.ThinkingHigh: 24_000, llm.ThinkingXHigh: 48_000,
}

var levels = []llm.ThinkingLevel{llm.ThinkingLow, llm.ThinkingMedium, llm.ThinkingHigh, llm.ThinkingXHigh}

// clamp returns the highest level that the model takes and that is not above the wish; if all are
// above it, the lowest. A model that takes none gets ThinkingOff.
func clamp(wish llm.ThinkingLevel, takes []llm.ThinkingLevel) llm.ThinkingLevel {
	if wish == llm.ThinkingOff || len(takes) == 0 {
		return llm.ThinkingOff
	}
	for i := slices.Index(levels, wish); i >= 0; i-- {
		if slices.Contains(takes, levels[i]) {
			return levels[i]
		}
	}
	return takes[0]
}

func setThinking(p *sdk.MessageNewParams, req *llm.Request) {
	f := familyOf(req.Model.ID)
	level := clamp(req.Thinking, req.Model.Levels)
	switch {
	case level == llm.ThinkingOff:
		setOff(p, f.off)
	case f.adaptive:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		p.OutputConfig.Effort = sdk.OutputConfigEffort(level)
	default:
		const least, forAnswer = 1024, 1024
		budget := min(budgets[level], p.MaxTokens-forAnswer)
		if budget >= least && thinkingFits(req.Messages) {
			p.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
		}
	}
}

func setOff(p *sdk.MessageNewParams, how off) {
	switch how {
	case offOmit:
	case offDisabled:
		p.Thinking.OfDisabled = &sdk.ThinkingConfigDisabledParam{}
	case offBetweenTools:
		p.Thinking.OfBetweenTools = &sdk.ThinkingConfigBetweenToolsParam{}
	case offLowest:
		p.OutputConfig.Effort = sdk.OutputConfigEffortLow
	}
}

// thinkingFits says whether thinking may be on: with a budget the API demands that the answer whose
// tool results are being returned began with thinking, which it did not if another model wrote it.
func thinkingFits(msgs []llm.Message) bool {
	if len(msgs) < 2 {
		return true
	}
	answer, last := msgs[len(msgs)-2], msgs[len(msgs)-1]
	returns := slices.ContainsFunc(last.Parts, func(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok })
	if !returns || answer.Role != llm.RoleAssistant || len(answer.Parts) == 0 {
		return true
	}
	blocks, err := encodeParts(answer)
	return err == nil && len(blocks) > 0 && (blocks[0].OfThinking != nil || blocks[0].OfRedactedThinking != nil)
}
