# frozen_string_literal: true

require_relative "../clock"
require_relative "tags/named"

module Tiercel
  module Store
    # Extends a store with `clear: :generation`, for servers that cannot list their keys: behind its namespace every key
    # has a generation, which `clear` replaces. What was there is found by nobody any more, and is evicted in time.
    #
    # A call has one generation from its beginning to its end ({Pinned}), so what is computed before a `clear` is not
    # stored after it. Such a store has no fast path.
    #
    # @private
    module NamespaceGenerations
      # The end of a generation's key, behind the namespace.
      KEY = "tiercel:namespace"

      # A namespace with the generation that it has for the call at hand.
      class Pinned < String
        # @return [String] without the generation
        attr_reader :base

        def initialize(base, generation)
          @base = base
          super("#{base}:#{generation}")
          freeze
        end
      end

      # The generations that a process knows: each is read again once it may be so old that a `clear` has to be seen.
      class Table
        # Namespaces that are remembered; the one that was read first is forgotten.
        MOST = 1_000
        Known = Struct.new(:pinned, :good_until)
        private_constant :Known

        # @param backend [Backend]
        # @param guard [Guard]
        # @param visibility [Float] seconds
        def initialize(backend, guard, visibility)
          @backend = backend
          @guard = guard
          @visibility = visibility
          @known = {}
          @lock = Mutex.new
        end

        # @param namespace [String]
        # @param key [String] of its generation
        # @return [Pinned]
        def pin(namespace, key)
          known = @known[namespace]
          return known.pinned if known && Clock.monotonic < known.good_until
          @lock.synchronize { renewed(namespace, key) }.pinned
        end

        # @return [Boolean, nil] nil where the backend failed: then nothing has changed, or it will be seen later
        def replace(namespace, key)
          bytes = new_generation
          @lock.synchronize do
            done = @guard.call(:clear, key) { @backend.set(key, bytes) }
            later = !done && @backend.tiered? # the last tier deletes the key when it is back
            @backend.undelivered([key], Tiers::Journal::GENERATION) if later
            remember(namespace, bytes, Clock.monotonic) if done || later
            done
          end
        end

        private

        # Where the backend fails, what was known stays; nothing else would be read or written either.
        def renewed(namespace, key)
          began = Clock.monotonic
          known = @known[namespace]
          return known if known && began < known.good_until
          found = @guard.call(:read_namespace, key) { read_or_begin(key) }
          return remember(namespace, found || new_generation, began) if found || known.nil?
          known.good_until = began + @visibility
          known
        end

        def read_or_begin(key)
          found = @backend.get(key)
          return found if found&.bytesize == Tags::Named::GENERATION_BYTES
          bytes = new_generation
          there = @backend.occupy_multi({ key => bytes })[key]&.first || bytes
          return there if there.bytesize == Tags::Named::GENERATION_BYTES
          @backend.set(key, bytes) # somebody else's bytes
          bytes
        end

        def remember(namespace, bytes, began)
          @known.shift if @known.size >= MOST && !@known.key?(namespace)
          generation = Tags::Named.generation(bytes).to_s(36)
          @known[namespace] = Known.new(Pinned.new(namespace, generation), began + @visibility)
        end

        def new_generation = Random.urandom(Tags::Named::GENERATION_BYTES)
      end

      # See {Maintenance#clear}.
      def clear(options = nil)
        namespace = merged_options(options)[:namespace]
        return super unless Pinned === namespace
        @settings.request_local&.current&.clear
        @settings.namespaces.replace(namespace.base, generation_key(namespace.base))
        nil
      end

      private

      # Asked by Rails for every call; twice for some, which keep what they have.
      def merged_options(call_options)
        merged = super
        namespace = merged[:namespace]
        namespace = namespace.call if namespace.respond_to?(:call)
        return merged if namespace.nil? || Pinned === namespace
        namespace = namespace.to_s
        merged.merge(namespace: @settings.namespaces.pin(namespace, generation_key(namespace)))
      end

      # Those of tags have none, so that an invalidation holds whichever generation an entry is of. (Rails 7.2 asks for
      # the namespace of a key once more.)
      def tag_keys(names, namespace)
        namespace = namespace.call if namespace.respond_to?(:call)
        namespace = namespace.base if Pinned === namespace
        return super if namespace.nil?
        names.map { |name| normalize_key("#{namespace}:#{Tags::KEY_PREFIX}#{name}", namespace: nil) }
      end

      def generation_key(namespace) = truncate_key("#{namespace}:#{KEY}")
    end
  end
end
