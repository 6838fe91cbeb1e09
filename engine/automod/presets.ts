/**
 * Word lists of our own for the trigger KEYWORD_PRESET: short, and turned by thirteen letters, so that readers of the
 * code need not read them. A guild adds what it misses by keywords of its own.
 *
 * @source
 * https://docs.discord.com/developers/resources/auto-moderation#auto-moderation-rule-object-keyword-preset-types
 */
const TURNED = {
  /** Profanity. */
  1: 'qnza tbqqnza* penc penccl ohyyfuvg* *fuvg* *shpx* *nffubyr* *onfgneq* *ovgpu* obyybpxf jnaxre* qvpxurnq* cevpx cvff cvffrq',
  /** Sexual content. */
  2: 'cbea* *cbeab* uragnv oybjwbo* unaqwbo* phzfubg* *znfgheong* qvyqb* *betnfz* ahqrf frkgvat zvys* tnatonat* qrrcguebng* baylsnaf',
  /** Slurs. */
  3: 'avttre* avttn* snttbg* genaal xvxr* fcvp puvax* tbbx* jrgonpx* ergneq ergneqrq enturnq* gbjryurnq* pbba qlxr',
} as const;

export type PresetNumber = keyof typeof TURNED;

const [A, LETTERS] = [97, 26];

/** The keywords of a list, with their wildcards. */
export const presetWords = (preset: PresetNumber): readonly string[] =>
  TURNED[preset]
    .replace(/[a-z]/g, (letter) =>
      String.fromCharCode(A + ((letter.charCodeAt(0) - A + LETTERS / 2) % LETTERS)),
    )
    .split(' ');
