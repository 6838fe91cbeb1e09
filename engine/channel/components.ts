import type { APIMessageTopLevelComponent } from 'discord-api-types/v10';
import { BUTTON_STYLE, COMPONENT, COMPONENT_ROOTS, SELECTS } from '../../protocol/components.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { type Reply, refused } from '../kernel/aggregate.ts';
import { resolveMedia, type Uploads } from './components.media.ts';
import { type FoundComponent, type Reading, readComponents } from './components.read.ts';
import { assignIds, repeatedIds, ruleBroken } from './components.rules.ts';
import type { ComponentUse } from './draft.ts';
import { Form } from './form.ts';

/** The context of the components: their message. */
interface Surroundings {
  /** The message consists of components only (IS_COMPONENTS_V2). */
  readonly standalone: boolean;
  readonly uses: ComponentUse;
  /** SKUs that a premium button may name. */
  readonly skuIds: readonly string[];
  readonly uploads: Uploads;
}

export interface BuiltComponents {
  readonly components: APIMessageTopLevelComponent[];
  /** Attachments that a component shows. */
  readonly shownIds: ReadonlySet<string>;
}

/**
 * Reads the components of a message against the schema of each kind, gives each component an id, and resolves the media
 * that they show.
 *
 * @returns A 50035 that names every wrong field, or the components as clients read them.
 * @source https://docs.discord.com/developers/components/reference
 */
export function buildComponents(
  raw: readonly unknown[],
  { standalone, uses, skuIds, uploads }: Surroundings,
): Reply<BuiltComponents> {
  const root = standalone ? COMPONENT_ROOTS.standalone : COMPONENT_ROOTS.legacy;
  if (raw.length > root.max) {
    const message = `Must be ${root.max} or fewer in length.`;
    return refused(invalidField(['components'], 'BASE_TYPE_MAX_LENGTH', message));
  }
  const reading: Reading = { form: new Form(), place: 'message', skuIds, found: [], tooMany: false };
  const components = readComponents(reading, ['components'], raw, root.kinds);
  const { form, found } = reading;
  if (reading.tooMany) {
    const message = `The total number of components, nested ones counted, exceeds ${LIMITS.components_per_message_max}.`;
    return refused(invalidField(['components'], 'COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED', message));
  }
  const reserved = uses === 'any' ? null : reservedKinds(found, uses);
  if (reserved) return refused(reserved);
  for (const { component, path } of found) ruleBroken(reading, path, component);
  repeatedIds(form, found);
  const wrong = form.refusal();
  if (wrong) return refused(wrong);
  const shownIds = resolveMedia(form, found, uploads);
  assignIds(found);
  const max = LIMITS.components_json_chars_max;
  if (JSON.stringify(components).length > max)
    form.add(['components'], 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer characters of JSON in all.`);
  const refusal = form.refusal();
  if (refusal) return refused(refusal);
  return {
    ok: true,
    value: { components: components as unknown as APIMessageTopLevelComponent[], shownIds },
  };
}

const RESERVED = {
  passive: 'Only webhooks of applications may send components that people act on.',
  links: 'Only applications may send this component; people may send rows of link buttons.',
};

/** Components that only applications may send, given what the writer may use. */
function reservedKinds(found: readonly FoundComponent[], uses: 'passive' | 'links'): Refusal | null {
  const form = new Form();
  for (const { component, path } of found) {
    const { type, style } = component;
    if (type === COMPONENT.ACTION_ROW || (type === COMPONENT.BUTTON && style === BUTTON_STYLE.LINK)) continue;
    if (uses === 'passive' && type !== COMPONENT.BUTTON && !SELECTS.has(type)) continue;
    form.add(path, 'COMPONENT_RESERVED_FOR_APPLICATIONS', RESERVED[uses]);
  }
  return form.refusal();
}
