# frozen_string_literal: true

require_relative "fetch/account"
require_relative "fetch/call"
require_relative "fetch/filling"

module Tiercel
  module Store
    # What subscribers and the log hear of a `fetch` that has missed: one `cache_generate`, as from Rails' own stores,
    # or one `cache_fetch_hit`, where somebody else's value or one that has ended is given in its place; each with what
    # the {Fetch::Account} says. Past `timeout:` also a `cache_fetch_timeout`.
    module Telling
      private

      # Every event of the store comes through here.
      def instrument(operation, key, options = nil, &)
        namespace = options && options[:namespace]
        options = options.merge(namespace: namespace.proc) if Fetch::Call::OneNamespace === namespace
        account = Fetch::Filling.current&.account if operation == :generate
        return super unless account
        super(operation, key, { **options, **account.of_block }, &)
      end

      # @param call [Fetch::Call]
      # @param given [Boolean] whether its caller is given a value
      # @return [void]
      def tell(call, given)
        account = call.account
        if account&.timeout
          instrument(:fetch_timeout, call.name, { **call.options, seconds: account.timeout, stale: given })
        end
        return if !given || (call.computed? && !account&.stale)
        instrument(:fetch_hit, call.name, account ? { **call.options, **account.of_hit } : call.options)
      end
    end
  end
end
