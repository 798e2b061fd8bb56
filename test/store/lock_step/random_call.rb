# frozen_string_literal: true

require_relative "materials"

module LockStep
  # A random call of a store, described before it is made. The same seed makes the same call with separate objects.
  class RandomCall
    OPERATIONS = {
      read: 8, fetch: 10, write: 6, delete: 2, exist?: 3, read_multi: 4, write_multi: 3, fetch_multi: 4,
      delete_multi: 1, increment: 4, decrement: 1, read_counter: 1, write_counter: 1, delete_matched: 1, clear: 1,
      invalidate_tags: 2
    }.flat_map { |operation, weight| [operation] * weight }.freeze
    BLOCKS = %i[value value value value nil raise throw break write read fetch options subscribe].freeze
    WRAPPINGS = ([nil] * 12 + %i[mute with_namespace with_logger local_cache]).freeze

    # @return [Symbol]
    attr_reader :operation

    # @param seed [Integer]
    # @param subscribers [Subscribers]
    def initialize(seed, subscribers)
      @materials = Materials.new(Random.new(seed))
      @subscribers = subscribers
      @operation = @materials.pick(OPERATIONS)
      @wrapping = @materials.pick(WRAPPINGS)
      # An outer local cache would remember generations of tags that such a call has removed.
      @wrapping = nil if @wrapping == :local_cache && %i[delete_matched clear].include?(@operation)
      @arguments = arguments
      @block = @materials.pick(BLOCKS) if %i[fetch fetch_multi].include?(@operation) && !@materials.once_in(8)
      @value = @materials.value
      @block_options = @materials.pick([{ expires_in: 5 }, { version: 2 }, { expires_at: Time.now + 20 },
                                        { expires_in: nil }, { tags: %w[a b] }, { tags: @materials.tags }])
    end

    # @return [String]
    def to_s
      arguments = @arguments.map { |argument| argument.inspect[0, 120] }
      ["#{@operation}(#{arguments.join(", ")})", ("{ #{@block}: #{@value.inspect[0, 60]} }" if @block),
       ("within #{@wrapping}" if @wrapping)].compact.join(" ")
    end

    # @return [Object] the store's result
    def make(store) = wrapped(store) { call(store) }

    private

    def arguments
      case @operation
      when :read then [@materials.name, *optional(@materials.options)]
      when :fetch then [@materials.name, *optional(@materials.options(:force, :skip_nil, :unless_exist))]
      when :exist?, :delete then [@materials.name, *optional(@materials.options)]
      when :write then [@materials.name, @materials.value, *optional(@materials.options(:unless_exist))]
      when :read_multi then [*@materials.names, *optional(@materials.options)].compact
      when :fetch_multi then [*@materials.names, *optional(@materials.options(:force, :skip_nil))].compact
      when :delete_multi then [@materials.names, *optional(@materials.options)]
      when :write_multi
        [@materials.names.to_h { |name| [name, @materials.value] }, *optional(@materials.options(:unless_exist))]
      else other_arguments
      end
    end

    def other_arguments
      case @operation
      when :increment, :decrement then [@materials.name, *@materials.pick([[], [], [2], [-3], [0], ["x"], [1.5]])]
      when :read_counter then [@materials.name]
      when :write_counter then [@materials.name, @materials.pick([0, 5, "7", nil])]
      when :delete_matched then [@materials.pick([/a/, "b*", /\An/, :no, "nothing"])]
      when :invalidate_tags
        tags = @materials.tags
        [*(tags.is_a?(Array) ? tags : [tags]), *@materials.pick([[], [], [], [{ namespace: "other" }]])]
      when :clear then @materials.once_in(3) ? [] : [{ namespace: "other" }]
      else []
      end
    end

    # Omitted, or nil, or a Hash.
    def optional(options) = options.nil? && @materials.once_in(2) ? [] : [options]

    def call(store)
      return store.public_send(@operation, *@arguments) unless @block
      catch(:out) do
        store.public_send(@operation, *@arguments) do |name, options|
          break :broken if @block == :break
          block_result(store, name, options)
        end
      end
    end

    def block_result(store, name, options)
      case @block
      when :value then @value
      when :raise then raise(IOError, "from the block")
      when :throw then throw(:out, :thrown)
      when :write then [store.write(name, "inside"), @value].last
      when :read then [store.read("a"), @value].last
      when :fetch then store.fetch("b") { @value }
      when :options then @block_options.each { |option, value| options&.public_send(:"#{option}=", value) } && @value
      when :subscribe then subscribed_inside
      end
    end

    def subscribed_inside
      @inside ||= @subscribers.add(:block, @materials.pick(Subscribers::PATTERNS), id: :inside)
      @value
    end

    def wrapped(store, &)
      case @wrapping
      when :mute then store.mute(&)
      when :with_namespace then store.with(namespace: "with", &)
      when :with_logger then ActiveSupport::Cache::Store.with(logger: nil, &)
      when :local_cache then store.respond_to?(:with_local_cache) ? store.with_local_cache { yield; yield } : yield
      else yield
      end
    ensure
      @subscribers.remove(@inside) if @inside
      @inside = nil
    end
  end
end
