/** How an application's players prove their identity with one kind of provider. */
export type ProviderSettings =
  | {
      readonly type: 'OIDC';
      /** Equals `iss` of its tokens. */
      readonly issuer: string;
      /** `aud` of its tokens must contain it. */
      readonly clientId: string;
    }
  | {
      readonly type: 'STEAM';
      /** The game's id at Steam. */
      readonly appId: string;
      /** The publisher's web API key. */
      readonly webApiKey: string;
    }
  | { readonly type: 'EPIC_ONLINE_SERVICES'; readonly clientId: string }
  | { readonly type: 'UNITY'; readonly projectId: string }
  | { readonly type: 'APPLE'; readonly clientId: string }
  | {
      readonly type: 'PLAYSTATION_NETWORK';
      /** As the console network's partner documentation gives it for the environment in use. */
      readonly issuer: string;
      readonly clientId: string;
    };

export type ConfigurableProvider = ProviderSettings['type'];
