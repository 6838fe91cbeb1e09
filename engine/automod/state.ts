import { Pace } from './pace.ts';
import { type Rule, TRIGGER, type TriggerNumber } from './rule.ts';
import { WordRules } from './verdicts.ts';
import { PatternWork } from './work.ts';

/** The rules of a guild, and what is derived from them. */
export class AutoModeration {
  readonly pace = new Pace();
  readonly work = new PatternWork();
  readonly #rules: Map<string, Rule>;
  /** Compiled on first use after a change; null before. */
  #messages: WordRules | null = null;
  #profiles: WordRules | null = null;

  constructor(rules: readonly Rule[] = []) {
    this.#rules = new Map(rules.map((rule) => [rule.id, rule]));
  }

  /** All rules, oldest first. */
  get rules(): readonly Rule[] {
    return [...this.#rules.values()];
  }

  get(id: string): Rule | null {
    return this.#rules.get(id) ?? null;
  }

  set(rule: Rule): void {
    this.#rules.set(rule.id, rule);
    this.#forget();
  }

  delete(id: string): void {
    this.#rules.delete(id);
    this.#forget();
  }

  /** The enabled rules of one trigger. */
  of(trigger: TriggerNumber): readonly Rule[] {
    return this.rules.filter((rule) => rule.enabled && rule.trigger_type === trigger);
  }

  /** Whether any enabled rule asks for what members send. */
  get readsMessages(): boolean {
    for (const { enabled, trigger_type: trigger } of this.#rules.values())
      if (enabled && trigger !== TRIGGER.MEMBER_PROFILE) return true;
    return false;
  }

  /** Whether any enabled rule asks how much members send. */
  get watchesPace(): boolean {
    for (const { enabled, trigger_type: trigger, trigger_metadata: metadata } of this.#rules.values())
      if (enabled && (trigger === TRIGGER.SPAM || metadata.mention_raid_protection_enabled)) return true;
    return false;
  }

  /** The enabled rules that look for words in messages. */
  get messageWords(): WordRules {
    this.#messages ??= new WordRules([...this.of(TRIGGER.KEYWORD), ...this.of(TRIGGER.KEYWORD_PRESET)]);
    return this.#messages;
  }

  /** The enabled rules that look for words in members' names. */
  get profileWords(): WordRules {
    this.#profiles ??= new WordRules(this.of(TRIGGER.MEMBER_PROFILE));
    return this.#profiles;
  }

  #forget(): void {
    this.#messages = null;
    this.#profiles = null;
  }
}
