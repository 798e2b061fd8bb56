# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Serialization
      # One library that makes bytes of objects, as an application would call it.
      class Library
        # @return [String]
        attr_reader :name
        # @return [String, nil] what is required
        attr_reader :feature
        # @return [Symbol] :value, what was dumped comes back; :json, what JSON says of it does
        attr_reader :form

        # @param name [String]
        # @param feature [String, nil]
        # @param form [Symbol]
        # @yieldreturn [Array(#call, #call)] what dumps a value, what loads bytes; asked once the feature is loaded
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
        # @param found [Object] what came back
        # @return [Boolean] whether JSON says the same of both
        def same_as_json?(value, found)
          require "active_support/json"
          found.as_json == value.as_json
        end

        # What serializers are to Rails' stores and to Tiercel's. The calls are fixed, so that their call sites see one
        # receiver only.
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
    end
  end
end
