# frozen_string_literal: true

require_relative "page"
require_relative "response"
require_relative "pages/classes"
require_relative "pages/entry"
require_relative "pages/keys"
require_relative "pages/overview"
require_relative "pages/servers"
require_relative "pages/tags"
require_relative "pages/tiers"

module Tiercel
  class Web
    # Maps paths to pages.
    #
    # @private
    module Pages
      ALL = { "/" => Overview, "/classes" => Classes, "/keys" => Keys, "/key" => Entry, "/tags" => Tags,
              "/tiers" => Tiers, "/servers" => Servers }.freeze

      # @param web [Web]
      # @param request [Request]
      # @return [Response]
      def self.answer(web, request)
        return metrics(web.store) if request.path == "/metrics"
        page = ALL[request.path] or return Response.text(404, "No such page.\n")
        Response.page { |nonce| page.new(web, request, nonce).render }
      end

      def self.metrics(store)
        return Response.text(404, "#{store.class} has no metrics.\n") unless store.respond_to?(:account)
        Response.text(200, Metrics.to_prometheus(store), type: "text/plain; version=0.0.4")
      end
      private_class_method :metrics
    end
  end
end
