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

  /** Whether any enabled rule asks for what members send. */
  readsMessages = false;
  /** Whether any enabled rule asks how much members send. */
  watchesPace = false;

  constructor(rules: readonly Rule[] = []) {
    this.#rules = new Map(rules.map((rule) => [rule.id, rule]));
    this.#changed();
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
    this.#changed();
  }

  delete(id: string): void {
    this.#rules.delete(id);
    this.#changed();
  }

  /** The enabled rules of one trigger. */
  of(trigger: TriggerNumber): readonly Rule[] {
    return this.rules.filter((rule) => rule.enabled && rule.trigger_type === trigger);
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

  #changed(): void {
    this.#messages = null;
    this.#profiles = null;
    const enabled = this.rules.filter((rule) => rule.enabled);
    this.readsMessages = enabled.some(({ trigger_type: trigger }) => trigger !== TRIGGER.MEMBER_PROFILE);
    this.watchesPace = enabled.some(
      ({ trigger_type: trigger, trigger_metadata: metadata }) =>
        trigger === TRIGGER.SPAM || metadata.mention_raid_protection_enabled === true,
    );
  }
}
