# frozen_string_literal: true

require_relative "../clock"
require_relative "tags/named"

module Tiercel
  module Store
    # Extends a store with `clear: :generation`, for servers that cannot list their keys. Each key contains its
    # namespace and a generation, and `clear` replaces the generation. No caller finds the earlier entries again, and
    # the server evicts them in time.
    #
    # A call keeps one generation until it ends ({Pinned}), so a value that was computed before a `clear` is not stored
    # after the `clear`. Such a store has no fast path.
    #
    # @private
    module NamespaceGenerations
      # The last part of a generation's key; it follows the namespace.
      KEY = "tiercel:namespace"

      # A namespace with its generation for the current call.
      class Pinned < String
        # @return [String] the namespace without the generation
        attr_reader :base

        def initialize(base, generation)
          @base = base
          super("#{base}:#{generation}")
          freeze
        end
      end

      # The generations that a process has read. A generation is read again after `clear_visibility` seconds, so that
      # the process sees a `clear` by another process.
      class Table
        # Maximum number of remembered namespaces; the oldest one is forgotten first.
        MOST = 1_000
        Known = Struct.new(:pinned, :good_until)
        private_constant :Known

        # @param backend [Backend]
        # @param guard [Guard]
        # @param visibility [Float] seconds until a `clear` by another process is visible
        def initialize(backend, guard, visibility)
          @backend = backend
          @guard = guard
          @visibility = visibility
          @known = {}
          @lock = Mutex.new
        end

        # @param namespace [String]
        # @param key [String] key of the namespace's generation
        # @return [Pinned]
        def pin(namespace, key)
          known = @known[namespace]
          return known.pinned if known && Clock.monotonic < known.good_until
          @lock.synchronize { renewed(namespace, key) }.pinned
        end

        # @return [Boolean, nil] nil if the backend failed: the generation is unchanged, or other processes see the
        #   change later
        def replace(namespace, key)
          bytes = new_generation
          @lock.synchronize do
            done = @guard.call(:clear, key) { @backend.set(key, bytes) }
            later = !done && @backend.tiered? # the last tier deletes the key when it is back
            @guard.undelivered&.note([key], :generation) if later
            remember(namespace, bytes, Clock.monotonic) if done || later
            done
          end
        end

        private

        # If the backend fails, the known generation stays, because the call could not read or write entries either.
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
          @backend.set(key, bytes) # another program wrote these bytes
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

      # Rails calls this for every call, and twice for some calls; the second call keeps the pinned generation.
      def merged_options(call_options)
        merged = super
        namespace = merged[:namespace]
        namespace = namespace.call if namespace.respond_to?(:call)
        return merged if namespace.nil? || Pinned === namespace
        namespace = namespace.to_s
        merged.merge(namespace: @settings.namespaces.pin(namespace, generation_key(namespace)))
      end

      # The keys of tags contain no generation, so an invalidation is valid for entries of every generation. (Rails 7.2
      # determines the namespace of a key a second time.)
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
