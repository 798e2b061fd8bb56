# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # The result of a `fetch`'s block.
      #
      # name, value; version: that the call asked for; options: of the call, merged; own: the same as the block has left
      # them; policy.
      #
      # @private
      Result = Struct.new(:name, :value, :version, :options, :own, :policy) do
        # @return [Boolean] whether nothing is to be stored
        def skipped? = value.nil? && own[:skip_nil]

        # @return [Boolean] whether the block has set options
        def changed? = !own.equal?(options) && own != options

        # @return [Boolean] whether the end is that of the call, not one of the block's
        def same_end? = own[:expires_in] == options[:expires_in]
      end
    end
  end
end
