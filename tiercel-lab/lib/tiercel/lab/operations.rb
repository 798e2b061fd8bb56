# frozen_string_literal: true

module Tiercel::Lab
  # A timed operation, and the work around it.
  #
  # The timed part is one Ruby expression (`body`). Each arm compiles it into a loop of its own, so that its call
  # sites see a single class. It may use these locals: `store` (the built contestant), `names`, `values`, `inputs`
  # (the value of {#inputs}), and `i`, which cycles through 0...arm.count. For an operation that is `prepared?`, `i`
  # starts at 0 in each slice.
  #
  # @abstract {Operations.define} declares one, with its {#verify}
  class Operation
    # Maximum number of calls in a slice of an operation that prepares names or entries for each call.
    PREPARED_CALLS = 1_000
    # Maximum number of bytes of values in such a slice.
    PREPARED_BYTES = 16 * 1024 * 1024
    # For other operations only the slice's time limits its calls.
    UNBOUNDED_CALLS = 10**9

    # @param value [Value]
    # @return [Integer] the most calls in a slice of a prepared operation
    def self.prepared_calls(value) = (PREPARED_BYTES / value.approximate_bytes).clamp(1, PREPARED_CALLS)

    # Defaults, which a declaration may override:
    #
    # - `name`, and `phrase`: a noun phrase for one call, as the subject of "costs"
    # - `kind`: the kind of contestants that it can use
    # - `body`: a Ruby expression; `preamble`: Ruby that runs before the loop and may set more locals
    # - `capacity_bytes`: the store's size; nil: enough for all entries
    # - `prepared?`: whether {#before_slice} runs before every slice, which then has few calls
    # - `clock`: :cpu or :wall; nil: the contestant's clock
    # - `server_time?`: whether to measure the servers' CPU time too
    # - `internal?`: whether help leaves it out
    FACTS = { name: nil, phrase: nil, kind: :store, body: nil, preamble: "", capacity_bytes: nil, prepared?: false,
              clock: nil, server_time?: false, internal?: false }.freeze

    # @param facts [Hash{Symbol => Object}] facts with the names in {FACTS}
    def self.facts(facts) = facts.each { |name, fact| define_method(name) { fact } }

    facts(FACTS)

    # @param _value [Value]
    # @return [String, nil] the reason why it does not suit the value; nil if it does
    def unsuitable(_value) = nil

    # @return [Integer] number of names of each arm
    def names_for(value) = value.count

    # @param value [Value]
    # @return [Integer] the most calls in a slice
    def most_calls(value) = prepared? ? Operation.prepared_calls(value) : UNBOUNDED_CALLS

    # Runs once in each arm's process, before the arm is built, to change the whole process.
    def enter; end

    # Undoes {#enter}.
    def leave; end

    # Runs once for each arm, untimed, and fills the store.
    #
    # @param arm [Engine::Arm]
    def setup(arm) = arm.fill

    # Returns `inputs` for the body.
    def inputs(_arm) = nil

    # Every name that the store may contain afterwards. On the user's servers the lab deletes these names.
    #
    # @return [Array<Object>]
    def written(arm)
      inputs = arm.inputs
      arm.names | (inputs.is_a?(Array) ? inputs.grep(String) : [])
    end

    # Runs untimed before every slice of an operation that is `prepared?`.
    #
    # @param _calls [Integer] calls of the slice
    def before_slice(_arm, _calls); end

    # Calls the store once for every name and compares the results; untimed, before and after all blocks.
    #
    # @raise [Missed, WrongValue]
    def verify(arm) = raise(NotImplementedError)
  end

  # The lab's operations, by name. {define} declares one.
  module Operations
    extend Catalogue

    DEFAULT = %w[read fetch miss write read_multi].freeze
    QUICK = %w[read fetch miss write].freeze
    # Number of names in a call for many.
    MANY = 100

    def self.noun = "operation"

    # @param phrase [String] a noun phrase for one call, as the subject of "costs"
    # @param like [String, Class] the operation that this one varies, by name or class
    # @param facts [Hash{Symbol => Object}] the {Operation::FACTS} that differ
    # @yield the class's body
    # @return [Operation]
    def self.define(name, phrase, like: Operation, **facts, &body)
      parent = like.is_a?(String) ? fetch(like).class : like
      add(Class.new(parent) do
        self.facts(name:, phrase:, **facts)
        class_eval(&body) if body
      end.new)
    end

    define "read", "a hit", body: "store.read(names[i])" do
      def verify(arm) = arm.each_pair { |name, value| arm.expect(value, arm.store.read(name)) }
    end

    define "fetch", "a fetch that hits", body: "store.fetch(names[i]) { @misses += 1 }" do
      def verify(arm)
        arm.each_pair { |name, value| arm.expect(value, arm.store.fetch(name) { nil }) }
      end
    end

    # A read of a name without an entry, in a store with other entries.
    define "miss", "a miss", body: "store.read(inputs[i])" do
      def inputs(arm) = arm.names.map { |name| "#{name}-absent" }

      def verify(arm)
        arm.inputs.each do |name|
          found = arm.store.read(name)
          raise WrongValue, "a read of an unwritten name returned #{found.class}" unless found.nil?
        end
        arm.each_pair { |name, value| arm.expect(value, arm.store.read(name)) }
      end
    end

    # Overwrites an entry.
    define "write", "a write", body: "store.write(names[i], values[i])" do
      def verify(arm)
        arm.each_pair do |name, value|
          answer = arm.store.write(name, value)
          raise WrongValue, "write returned #{answer.inspect}" unless answer
          arm.expect(value, arm.store.read(name))
        end
      end
    end

    # A hundred hits in one call. Values repeat if there are fewer.
    define "read_multi", "a read_multi of #{MANY}", body: "store.read_multi(*inputs)" do
      def unsuitable(value) = ("#{MANY} such values a call are no use case" if value.large?)

      def names_for(value) = [value.count, MANY].max

      def inputs(arm) = arm.names.first(MANY)

      def verify(arm)
        found = arm.store.read_multi(*arm.names.first(MANY))
        raise Missed, "read_multi of #{MANY} names returned #{found.size}" if found.size < MANY
        arm.each_pair(MANY) { |name, value| arm.expect(value, found[name]) }
      end
    end

    define "write_multi", "a write_multi of #{MANY}", like: "read_multi", body: "store.write_multi(inputs)" do
      def inputs(arm) = arm.each_pair(MANY).to_h

      def verify(arm)
        arm.store.write_multi(arm.inputs)
        super
      end
    end

    define "fetch_multi", "a fetch_multi of #{MANY} hits", like: "read_multi",
                                                           body: "store.fetch_multi(*inputs) { @misses += 1 }"

    define "exist", "an exist? that is true", body: "store.exist?(names[i])" do
      def verify(arm)
        arm.each_pair do |name, _value|
          found = arm.store.exist?(name)
          raise Missed, "exist? of a written name is #{found.inspect}" unless found
        end
        return unless arm.store.exist?("#{arm.names.first}-absent")
        raise WrongValue, "exist? of an unwritten name is true"
      end
    end

    # Deletes an entry, which is written again before every slice.
    define "delete", "a delete", body: "store.delete(inputs[i])", prepared?: true do
      def inputs(arm) = arm.names.map { |name| "#{name}-to-delete" }

      def names_for(value) = [value.count, Operation::PREPARED_CALLS].max

      def setup(arm); end

      def before_slice(arm, calls)
        arm.inputs.first(calls).each_with_index do |name, index|
          arm.store.write(name, arm.values[index % arm.values.size])
        end
      end

      def verify(arm)
        arm.inputs.first(arm.values.size).each_with_index do |name, index|
          arm.store.write(name, arm.values[index])
          arm.expect(arm.values[index], arm.store.read(name))
          raise WrongValue, "delete of an existing entry returned false" unless arm.store.delete(name)
          raise WrongValue, "a deleted entry was still found" unless arm.store.read(name).nil?
        end
      end
    end

    # Increments an existing counter.
    define "increment", "an increment", body: "store.increment(inputs[i])" do
      def inputs(arm) = arm.names.map { |name| "#{name}-counter" }

      def setup(arm) = arm.inputs.each { |name| arm.store.write(name, 1, raw: true) }

      def verify(arm)
        name = arm.inputs.first
        before, after = Array.new(2) { arm.store.increment(name) }
        return if before.is_a?(Integer) && after == before + 1
        raise WrongValue, "increment returned #{before.inspect}, then #{after.inspect}"
      end
    end

    # Passes a TTL in the call, as applications do.
    define "fetch_tagged", "a fetch with three tags that hits", like: "fetch",
                           body: "store.fetch(names[i], tags: inputs[i]) { @misses += 1 }" do
      def inputs(arm) = Array.new(arm.count) { |index| ["product:#{index}", "shop:#{index / 10}", "all"] }

      def setup(arm)
        tags = inputs(arm)
        arm.each_pair.with_index { |(name, value), index| arm.store.write(name, value, tags: tags[index]) }
      end

      def verify(arm)
        super
        tag = arm.inputs.first.first
        raise WrongValue, "tags were not invalidated" unless arm.store.invalidate_tags(tag)
        raise WrongValue, "an invalidated entry was still found" unless arm.store.read(arm.names.first).nil?
        arm.store.write(arm.names.first, arm.values.first, tags: arm.inputs.first)
      end
    end

    # Reads the same entries without naming their tags.
    define "read_tagged", "a hit of an entry with three tags", like: "fetch_tagged", body: "store.read(names[i])"

    # Fetches a missing entry, which is deleted before every slice.
    define "fetch_cold", "a fetch that runs its block", like: "delete",
                         body: "store.fetch(inputs[i]) { values[i % values.size] }" do
      def inputs(arm) = arm.names.map { |name| "#{name}-cold" }

      def before_slice(arm, calls) = arm.store.delete_multi(arm.inputs.first(calls))

      def verify(arm)
        arm.inputs.first(arm.values.size).each_with_index do |name, index|
          arm.store.delete(name)
          arm.expect(arm.values[index], arm.store.fetch(name) { arm.values[index] })
          arm.expect(arm.values[index], arm.store.read(name))
        end
      end
    end

    # Writes a new name into a full store, which must evict an entry for each. The store is small, so that it fills
    # quickly. The names are several times its capacity, used in order.
    define "write_full", "a write into a full store", body: "store.write(names[i], values[i % values.size])",
                                                      capacity_bytes: 16 * 1024 * 1024 do
      def unsuitable(value)
        "more than a hundredth of the store" if value.approximate_bytes > capacity_bytes / 100
      end

      def names_for(value) = 3 * capacity_bytes / value.approximate_bytes

      def setup(arm)
        arm.names.each_with_index { |name, index| put(arm, name, index % arm.values.size) }
      end

      # Checks the last entry, and that some of a thousand other entries have been evicted.
      def verify(arm)
        name = arm.names.last
        put(arm, name, 0)
        expect(arm, name, 0)
        sample = arm.names.each_slice([arm.count / 1_000, 1].max).map(&:first)
        return unless sample.all? { |other| get(arm, other) }
        raise WrongValue, "the store evicted nothing: it ignores its size limit"
      end

      private

      # @param index [Integer] index of the value
      def put(arm, name, index) = arm.store.write(name, arm.values[index])

      def get(arm, name) = arm.store.read(name)

      def expect(arm, name, index) = arm.expect(arm.values[index], get(arm, name))
    end

    # The loop alone. Every other figure contains its time, which no store causes.
    define "loop", "the loop itself", body: "names[i]", internal?: true do
      def setup(arm); end
      def verify(arm); end
    end
  end
end

require_relative "operations/surroundings"
require_relative "operations/parts"
