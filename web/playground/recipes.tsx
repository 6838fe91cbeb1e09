import { useEffect, useState } from 'preact/hooks';
import type { Recipe } from '../tabaccount.ts';

/** Programs of the demo's bot, to paste into a file. */
export function RecipeCard({ recipes }: { readonly recipes: readonly Recipe[] }) {
  const [name, setName] = useState(recipes[0]?.name ?? '');
  const recipe = recipes.find((one) => one.name === name) ?? recipes[0];
  if (recipe === undefined) return null;
  return (
    <details class="recipe" open>
      <summary>Connect your bot</summary>
      <select
        aria-label="Library"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      >
        {recipes.map((one) => (
          <option key={one.name} value={one.name}>
            {one.name}
          </option>
        ))}
      </select>
      <Copyable title="1. Install" text={recipe.install} />
      <Copyable title="2. Paste in bot.mjs" text={recipe.program} />
      <Copyable title="3. Run" text="node bot.mjs" />
      <p class="dim small">
        Then write !ping in the channel. The token is your demo bot's: keep it to yourself.
      </p>
    </details>
  );
}

function Copyable({ title, text }: { readonly title: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div class="copyable">
      <div class="copyhead">
        <h3>{title}</h3>
        <button type="button" class="quiet" aria-label={`Copy: ${title}`} onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      </div>
      <textarea
        class="program"
        readOnly
        aria-label={title}
        rows={Math.min(8, text.split('\n').length)}
        value={text}
      />
    </div>
  );
}
