/** Goal: components are kept as sent within their frame, and each has an id of its own. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildComponents } from '../../../engine/channel/components.ts';

const button = (more: object = {}) => ({ type: 2, style: 1, custom_id: 'b', label: 'Go', ...more });
const row = (...components: object[]) => ({ type: 1, components });

const codeOf = (raw: unknown[], standalone = false) => {
  const built = buildComponents(raw, standalone);
  return built.ok ? null : built.refusal.code;
};

describe('buildComponents', () => {
  it('numbers components in reading order, around the ids that were given', () => {
    const built = buildComponents([row(button(), button({ id: 2 })), row(button())], false);
    expect(built).toEqual({
      ok: true,
      value: [
        { ...row(button({ id: 3 }), button({ id: 2 })), id: 1 },
        { ...row(button({ id: 5 })), id: 4 },
      ],
    });
  });

  it('numbers the accessory of a section', () => {
    const section = { type: 9, components: [{ type: 10, content: 'x' }], accessory: button() };
    const built = buildComponents([section], true);
    expect(built.ok && built.value[0]).toMatchObject({
      id: 1,
      components: [{ id: 2 }],
      accessory: { id: 3 },
    });
  });

  it('says what the author left out, and drops what they left empty', () => {
    const select = { type: 5, custom_id: 's', max_values: 3, placeholder: null };
    const built = buildComponents([{ type: 17, components: [{ type: 14 }, row(select)] }], true);
    expect(built.ok && built.value).toEqual([
      {
        type: 17,
        id: 1,
        accent_color: null,
        spoiler: false,
        components: [
          { type: 14, id: 2, spacing: 1, divider: true },
          { type: 1, id: 3, components: [{ type: 5, id: 4, custom_id: 's', min_values: 1, max_values: 3 }] },
        ],
      },
    ]);
  });

  it('takes only rows beside content', () => {
    const text = { type: 10, content: 'x' };
    expect(codeOf([text])).toBe(50035);
    expect(codeOf([text], true)).toBeNull();
    expect(codeOf([button()], true)).toBe(50035);
  });

  it.each([
    ['six rows', Array.from({ length: 6 }, () => row(button()))],
    ['an id twice', [row(button({ id: 7 }), button({ id: 7 }))]],
    ['what is no component', ['row']],
    ['a null', [null]],
    ['an endless nesting', [JSON.parse(`${'{"type":1,"components":['.repeat(50)}${']}'.repeat(50)}`)]],
    ['too much text', [row(button({ label: 'x'.repeat(70_000) }))]],
  ])('refuses %s', (_, raw) => {
    expect(codeOf(raw)).toBe(50035);
  });

  it('counts nested components', () => {
    const five = row(...Array.from({ length: 5 }, () => button()));
    expect(
      codeOf(
        Array.from({ length: 6 }, () => five),
        true,
      ),
    ).toBeNull();
    expect(
      codeOf(
        Array.from({ length: 7 }, () => five),
        true,
      ),
    ).toBe(50035);
  });

  it('takes any JSON without throwing, and never gives an id twice', () => {
    const type = fc.constantFrom(1, 9, 10, 17);
    const { component } = fc.letrec((tie) => ({
      component: fc.record(
        {
          type,
          id: fc.oneof(fc.integer({ min: -1, max: 5 }), fc.string()),
          components: fc.array(tie('component'), { maxLength: 3 }),
          extra: fc.jsonValue({ maxDepth: 2 }),
        },
        { requiredKeys: ['type'] },
      ),
    }));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(component, fc.jsonValue()), { maxLength: 6 }),
        fc.boolean(),
        (raw, alone) => {
          const built = buildComponents(raw, alone);
          if (!built.ok) return;
          const ids: unknown[] = [];
          const walk = (each: Record<string, unknown>) => {
            ids.push(each.id);
            const inner = Array.isArray(each.components) ? each.components : [];
            for (const child of inner)
              if (child && typeof child === 'object' && !Array.isArray(child)) walk(child);
          };
          for (const each of built.value) walk(each as unknown as Record<string, unknown>);
          expect(new Set(ids).size).toBe(ids.length);
          for (const id of ids) expect(id).toBeGreaterThan(0);
        },
      ),
    );
  });
});
