import { BUTTON_STYLE, COMPONENT, SELECTS } from '../../protocol/components.ts';
import { isRecord } from '../../protocol/json.ts';
import type { Form } from '../channel/form.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { ResolvedCheck } from './resolved.ts';
import { type Choosing, numberOf, readValues } from './values.ts';

/** A component that was used, in the wire's shape. */
interface ComponentUse {
  readonly data: {
    readonly component_type: number;
    readonly custom_id: string;
    readonly id: number;
    readonly values?: readonly string[];
  };
  readonly checks: readonly ResolvedCheck[];
}

/** A component as it is stored. */
interface Stored extends Choosing {
  readonly id?: number;
  readonly custom_id?: string;
  readonly style?: number;
  readonly disabled?: boolean;
  readonly components?: readonly Stored[];
  readonly accessory?: Stored;
  readonly component?: Stored;
}

const isStored = (component: unknown): component is Stored => isRecord(component);

/** All components at all levels, parents first. Their number is bounded by what a message or form may have. */
export function* componentsIn(components: readonly Stored[]): Generator<Stored> {
  for (const component of components) {
    yield component;
    yield* componentsIn(component.components ?? []);
    if (component.accessory) yield* componentsIn([component.accessory]);
    if (component.component) yield* componentsIn([component.component]);
  }
}

const { LINK, PREMIUM } = BUTTON_STYLE;

/**
 * Reads the use of a component of a message: a button, or a select with the chosen values.
 *
 * @param raw `data` of the request.
 * @returns Null when the message has no such component that can be used; the reason is added to the form.
 */
export function readComponentUse(
  { components }: Pick<StoredMessage, 'components'>,
  raw: Readonly<Record<string, unknown>>,
  form: Form,
): ComponentUse | null {
  const stored = (components ?? []).filter(isStored);
  const used = [...componentsIn(stored)].find(
    ({ custom_id: id }) => id !== undefined && id === raw.custom_id,
  );
  const isLink = used?.type === COMPONENT.BUTTON && (used.style === LINK || used.style === PREMIUM);
  if (!used || isLink) {
    form.add(['data', 'custom_id'], 'COMPONENT_VALIDATION_FAILED', 'The message has no such component.');
    return null;
  }
  if (used.disabled) {
    form.add(['data', 'custom_id'], 'COMPONENT_DISABLED', 'This component is disabled.');
    return null;
  }
  if (numberOf(raw.component_type) !== used.type) {
    form.add(['data', 'component_type'], 'BASE_TYPE_CHOICES', `The type of this component is ${used.type}.`);
    return null;
  }
  const named = { component_type: used.type, custom_id: used.custom_id ?? '', id: used.id ?? 0 };
  if (!SELECTS.has(used.type)) return { data: named, checks: [] };
  const checks: ResolvedCheck[] = [];
  const values = readValues(form, ['data', 'values'], raw.values, used, checks);
  return values && { data: { ...named, values }, checks };
}
