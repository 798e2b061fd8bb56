# frozen_string_literal: true

require_relative "../key_list"
require_relative "../page"

module Tiercel
  class Web
    module Pages
      # Searches keys by prefix and shows the entry of a key.
      #
      # @private
      class Keys < Page
        page "Keys", "keys"

        private

        def prefix = @request["prefix_key"]
        def list = @list ||= (ask { KeyList.new(store, prefix) } if tiercel? && !prefix.empty?)
      end
    end
  end
end
