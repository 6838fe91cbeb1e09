import { simulate } from './run.ts';

const seed = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1);
const rules = new Map<string, number[]>();
for (let at = seed; at < seed + count; at += 1) {
  const outcome = await simulate(at);
  for (const rule of new Set(outcome.violations.map((violation) => violation.rule)))
    rules.set(rule, [...(rules.get(rule) ?? []), at]);
  if (count === 1) {
    console.log(outcome.trace.join('\n'));
    console.log(outcome.violations, outcome.scenario);
  }
  if (outcome.violations.length > 0) console.log(at, outcome.violations[0]);
  if (at % 20 === 0 || count === 1)
    console.log(
      at,
      Math.round(outcome.tookMs),
      'ms',
      Math.round(outcome.virtualMs / outcome.tookMs),
      'x',
      outcome.steps,
      outcome.fingerprint,
      JSON.stringify(outcome.counts),
    );
}
for (const [rule, seeds] of rules) console.log(rule, seeds.length, seeds.slice(0, 10).join());
