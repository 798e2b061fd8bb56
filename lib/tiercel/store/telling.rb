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
      # The payload of a `cache_read_multi`, until what it is about is read. (Rails' `fetch_multi` does not hand it on.)
      READ_MULTI = :tiercel_read_multi
      private_constant :READ_MULTI

      private

      # Every event of the store comes through here.
      def instrument(operation, key, options = nil, &)
        namespace = options && options[:namespace]
        options = options.merge(namespace: namespace.proc) if Fetch::Call::OneNamespace === namespace
        account = Fetch::Filling.current&.account if operation == :generate
        return super(operation, key, { **options, **account.of_block }, &) if account
        return super unless operation == :read && @settings.backend.tiered?
        super { |payload| yield(payload).tap { tell_no_tier(payload) } }
      end

      # A tier that had what is of no use (it has ended, or is of another version) has not answered.
      def tell_no_tier(payload)
        payload.delete(:tier) if payload[:hit] == false
      end

      # The same of those about several names.
      def instrument_multi(operation, keys, options = nil)
        return super unless operation == :read_multi && @settings.backend.tiered?
        super do |payload|
          Thread.current[READ_MULTI] = payload
          yield payload
        ensure
          Thread.current[READ_MULTI] = nil
        end
      end

      def read_multi_entries(names, event: nil, **options)
        event ||= Thread.current[READ_MULTI]
        Thread.current[READ_MULTI] = nil
        super
      end

      # @param call [Fetch::Call]
      # @param given [Boolean] whether its caller is given a value
      # @return [void]
      def tell(call, given)
        account = call.account
        @settings.account.count(:lease_wait_ns, (account.waited * 1e6).to_i) if account&.waited&.positive?
        if account&.timeout
          instrument(:fetch_timeout, call.name, { **call.options, seconds: account.timeout, stale: given })
        end
        return if !given || (call.computed? && !account&.stale)
        instrument(:fetch_hit, call.name, account ? { **call.options, **account.of_hit } : call.options)
      end
    end
  end
end
