import { BUTTON_STYLE } from '../../protocol/components.ts';
import { isRecord } from '../../protocol/json.ts';

/** A container holds rows and sections, and these hold buttons. */
const DEPTH_MAX = 3;

/** Whether components, not read yet, have a premium button, for which the SKUs of the application are to be known. */
export const hasPremiumButton = (raw: unknown): boolean => Array.isArray(raw) && isAnyPremium(raw, DEPTH_MAX);

const isAnyPremium = (raw: readonly unknown[], depth: number): boolean =>
  raw.some((one) => {
    if (!isRecord(one)) return false;
    const { style, components, accessory } = one;
    if (Number(style) === BUTTON_STYLE.PREMIUM) return true;
    const inside = [...(Array.isArray(components) ? components : []), accessory];
    return depth > 1 && isAnyPremium(inside, depth - 1);
  });
