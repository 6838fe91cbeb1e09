// Goal: whatever is issued, refreshed, replayed and revoked in whatever order, exactly the tokens count that should.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TOKEN_LIFE_SEC } from '../../../engine/oauth/holdings.ts';
import type { IssuedTokens } from '../../../services/oauth/ports.ts';
import { ANNA, arrange, GAME, OTHER } from './arrange.ts';
import { tokenRequest } from './flows.ts';

/** A chain as the model has it: every pair it gave, the last of which counts while it lives. */
interface ModelChain {
  readonly applicationId: typeof GAME;
  readonly pairs: { readonly tokens: IssuedTokens; readonly expiresMs: number }[];
  alive: boolean;
}

type Step =
  | { readonly kind: 'issue'; readonly other: boolean }
  | { readonly kind: 'refresh'; readonly chain: number; readonly pair: number }
  | { readonly kind: 'deauthorize'; readonly other: boolean }
  | { readonly kind: 'wait'; readonly days: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('issue' as const), other: fc.boolean() }),
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('refresh' as const), chain: fc.nat(9), pair: fc.nat(3) }),
    },
    fc.record({ kind: fc.constant('deauthorize' as const), other: fc.boolean() }),
    fc.record({ kind: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 8 }) }),
  ),
  { maxLength: 24 },
);

async function run(plan: readonly Step[]): Promise<void> {
  const { oauth, clock, secretOf } = arrange();
  const chains: ModelChain[] = [];
  const idOf = (other: boolean) => (other ? OTHER : GAME);

  async function take(step: Step): Promise<void> {
    if (step.kind === 'wait') clock.nowMs += step.days * 86_400_000;
    if (step.kind === 'deauthorize') {
      const applicationId = idOf(step.other);
      const mine = chains.filter((chain) => chain.applicationId === applicationId);
      await oauth.deauthorize(ANNA, applicationId);
      for (const chain of mine) chain.alive = false;
    }
    if (step.kind === 'issue') {
      const applicationId = idOf(step.other);
      const tokens = await oauth.issue({
        userId: ANNA,
        applicationId,
        scopes: ['identify'],
        refreshable: true,
      });
      chains.push({ applicationId, pairs: [{ tokens, expiresMs: tokens.expiresMs }], alive: true });
    }
    if (step.kind === 'refresh' && chains.length > 0)
      await refresh(chains[step.chain % chains.length]!, step.pair);
  }

  async function refresh(chain: ModelChain, back: number): Promise<void> {
    const at = Math.max(0, chain.pairs.length - 1 - back);
    const isLast = at === chain.pairs.length - 1;
    const { tokens } = chain.pairs[at]!;
    const reply = await oauth.token({
      ...tokenRequest(secretOf(chain.applicationId), { grantType: 'refresh_token' }),
      clientId: chain.applicationId,
      refreshToken: tokens.refreshToken!.reveal(),
    });
    expect(reply.ok).toBe(chain.alive && isLast);
    if (reply.ok) chain.pairs.push({ tokens: reply.value, expiresMs: clock.nowMs + TOKEN_LIFE_SEC * 1000 });
    else chain.alive = false;
  }

  for (const step of plan) {
    await take(step);
    for (const { alive, pairs } of chains) {
      for (const [at, { tokens, expiresMs }] of pairs.entries()) {
        const counts = alive && at === pairs.length - 1 && expiresMs > clock.nowMs;
        const principal = await oauth.authenticate(tokens.accessToken.reveal());
        expect(principal !== null).toBe(counts);
      }
    }
  }
}

test('access and refresh tokens are valid exactly while the model of their chain has them', async () => {
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 150 });
});
