# frozen_string_literal: true

module Tiercel
  module Metrics
    # Counters of the group `tiercel`, which Yabeda's adapters export.
    #
    # @private
    module Yabeda
      class << self
        # @param account [Account]
        # @return [Boolean] true
        def install(account)
          increments = Increments.new(account)
          declare unless @declared
          @declared = true
          ::Yabeda.configure { collect { Yabeda.count(increments) } }
          true
        end

        # @private
        # @param increments [Increments]
        # @return [void]
        def count(increments)
          increments.each do |definition, tags, increment|
            ::Yabeda.tiercel.public_send(definition.name).increment(tags, by: increment)
          end
        end

        private

        def declare
          ::Yabeda.configure do
            group :tiercel do
              DECLARED.each { |one| counter one.name, unit: one.unit, comment: one.text, tags: one.tag_names }
            end
          end
        end
      end
    end
  end
end
