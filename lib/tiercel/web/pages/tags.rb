# frozen_string_literal: true

require_relative "../key_list"
require_relative "../page"

module Tiercel
  class Web
    module Pages
      # Invalidates tags, and lists tags with a given prefix.
      #
      # @private
      class Tags < Page
        page "Tags", "tags"

        private

        def prefix = @request["prefix_key"]

        def list
          return if prefix.empty? || !tiercel?
          @list ||= ask { KeyList.new(store, "#{Store::Tags::KEY_PREFIX}#{prefix}") }
        end

        def names = list.items.map { |item| item.key.b.split(Store::Tags::KEY_PREFIX, 2).last.force_encoding("UTF-8") }
      end
    end
  end
end
