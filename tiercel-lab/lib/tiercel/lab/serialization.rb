# frozen_string_literal: true

module Tiercel::Lab
  # The serializers of the tables, by name. The serializers call the libraries directly.
  #
  #   Serialization.fetch("marshal").build.dump(value)
  module Serialization
    extend Catalogue
    Tiercel::Lab.declare self, "serialization/fidelity" => %i[Fidelity Specimens]


    # A library that serializes objects, called as an application would call it.
    class Library
      # @return [String]
      attr_reader :name
      # @return [String, nil] the feature to require
      attr_reader :feature
      # @return [Symbol] :value if loading returns the same value; :json if it returns the value's JSON form
      attr_reader :form

      # @param name [String]
      # @param feature [String, nil]
      # @param form [Symbol]
      # @yieldreturn [Array(#call, #call)] the dumping and the loading call; runs after the feature is loaded
      def initialize(name, feature: nil, form: :value, &calls)
        @name = name
        @feature = feature
        @form = form
        @calls = calls
      end

      # @return [#dump, #load]
      # @raise [CannotRun] if its gem is missing
      def build
        require feature if feature
        Codec.new(*@calls.call)
      rescue LoadError => e
        raise CannotRun, "gem #{feature} is not in the bundle: add gem #{feature.inspect} to the Gemfile " \
                         "(#{e.message})"
      end

      # @param value [Object]
      # @param found [Object] the loaded value
      # @return [Boolean] whether both have the same JSON
      def same_as_json?(value, found)
        require "active_support/json"
        found.as_json == value.as_json
      end

      # A serializer with the interface that Rails' stores and Tiercel use. Each has its own calls, so that their call
      # sites see a single receiver.
      class Codec
        def initialize(dump, load)
          @dump = dump
          @load = load
        end

        # @param value [Object]
        # @return [String]
        def dump(value) = @dump.call(value)

        # @param bytes [String]
        # @return [Object]
        def load(bytes) = @load.call(bytes)
      end
    end

    # Rails' default. Ratios of the other rows refer to it.
    BASELINE = "marshal"

    # The types that Paquito can register.
    PAQUITO_TYPES = lambda do
      require "bigdecimal"
      require "date"
      require "active_support/time_with_zone"
      require "active_support/core_ext/hash/indifferent_access"
      types = [Symbol, Time, DateTime, Date, BigDecimal, Set, ActiveSupport::HashWithIndifferentAccess,
               ActiveSupport::TimeWithZone]
      defined?(ActiveRecord::Base) ? types << ActiveRecord::Base : types
    end

    RECORDS = ->(value) { value.is_a?(Array) && value.first.respond_to?(:attributes) }

    # Registers the types of Active Record before the first use, as Active Record's railtie does in an application.
    RAILS_MESSAGE_PACK = lambda do
      serializer = ActiveSupport::MessagePack::CacheSerializer
      return serializer if @records_known
      begin
        require "active_record"
        require "active_record/message_pack"
        ActiveRecord::MessagePack::Extensions.install(serializer)
      rescue LoadError, FrozenError
        # Without Active Record there are no records. A frozen registry is complete already.
      end
      @records_known = true
      serializer
    end

    add Library.new("marshal") { [Marshal.method(:dump), Marshal.method(:load)] }
    # Calls `as_json` of records first, as the first article does. The library alone would write their `to_s`.
    add(Library.new("json", feature: "active_support/json", form: :json) do
      [->(value) { JSON.generate(RECORDS.call(value) ? value.as_json : value) }, JSON.method(:parse)]
    end)
    add(Library.new("as_json", feature: "active_support/json", form: :json) do
      [ActiveSupport::JSON.method(:encode), ActiveSupport::JSON.method(:decode)]
    end)
    add(Library.new("message_pack", feature: "msgpack", form: :json) do
      [MessagePack.method(:pack), MessagePack.method(:unpack)]
    end)
    add(Library.new("as_message_pack", feature: "active_support/message_pack") do
      serializer = RAILS_MESSAGE_PACK.call
      [serializer.method(:dump), serializer.method(:load)]
    end)
    add(Library.new("oj", feature: "oj", form: :json) do
      require "active_support/json"
      [->(value) { Oj.dump(value, mode: :rails) }, ->(bytes) { Oj.load(bytes, mode: :strict) }]
    end)
    add(Library.new("oj_object", feature: "oj") do
      [->(value) { Oj.dump(value, mode: :object) }, ->(bytes) { Oj.load(bytes, mode: :object) }]
    end)
    add(Library.new("paquito", feature: "paquito") do
      codec = Paquito::CodecFactory.build(PAQUITO_TYPES.call)
      [codec.method(:dump), codec.method(:load)]
    end)
    add(Library.new("auto", feature: "tiercel") do
      coder = ::Tiercel::Coder.new(compressor: nil, checksum: false)
      [->(value) { coder.dump_value(value, nil, nil) }, coder.method(:load_value)]
    end)

    def self.noun = "serializer"
  end
end
