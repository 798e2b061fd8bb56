# frozen_string_literal: true

require "digest"
require_relative "format"
require_relative "request"
require_relative "same_origin"

module Tiercel
  class Web
    # The actions of the page: deleting an entry, invalidating a tag, clearing a prefix or everything.
    #
    # @private
    class Actions
      ACTIONS = { "/delete" => :delete, "/invalidate" => :invalidate, "/clear" => :clear }.freeze
      NO_ACTIONS = "Actions are disabled: mount Tiercel::Web.new(actions: true, ...).\n"
      private_constant :ACTIONS, :NO_ACTIONS

      # @param web [Web]
      # @param request [Request]
      def initialize(web, request)
        @web = web
        @request = request
      end

      # @return [Response]
      def answer
        action = ACTIONS[@request.path] or return Response.text(404, "No such page.\n")
        refusal = refusal()
        log(action, refusal ? "refused (#{refusal.status})" : "allowed")
        refusal || send(action)
      end

      private

      def refusal
        return Response.text(403, NO_ACTIONS) unless @web.actions?
        return Response.text(415, "The body is not a form.\n") unless @request.form?
        Response.text(403, "Only this page's own forms may change the cache.\n") unless SameOrigin.new(@request).holds?
      end

      def delete
        key = @web.own(@request.key)
        deleted = tiercel? ? store.delete(key, namespace: nil) : store.delete(key)
        back("/keys", deleted ? "deleted" : "missing")
      end

      def invalidate
        tag = @request["tag"].empty? ? @request.key : @request["tag"]
        return back("/tags", "untagged") unless store.respond_to?(:invalidate_tags)
        back("/tags", store.invalidate_tags(tag) ? "invalidated" : "failed")
      rescue ArgumentError => error
        raise Request::BadRequest, error.message
      end

      # An empty prefix would clear everything, so that needs a separate checkbox.
      def clear
        prefix = @request["prefix_key"]
        if prefix.empty?
          raise Request::BadRequest, "the prefix is missing" unless @request["everything"] == "yes"
          store.clear
          return back("/keys", "cleared")
        end
        back("/keys", clear_prefix(prefix) ? "cleared" : "failed")
      rescue ArgumentError => error # invalid UTF-8
        raise Request::BadRequest, error.message
      end

      def clear_prefix(prefix)
        store.delete_matched(tiercel? ? "#{Store::Glob.escape(prefix)}*" : /\A#{Regexp.escape(prefix)}/)
      end

      def store = @web.store

      def tiercel? = store.respond_to?(:stored_key)

      def back(path, notice) = Response.redirect("#{@request.base}#{path}?notice=#{notice}")

      # Keys and tags may contain secrets, so the log has their digests, which are enough to compare two lines.
      def log(action, outcome)
        subject = @request["entry_key"] + @request["tag"] + @request["prefix_key"]
        digest = subject.empty? ? "everything" : "SHA-256 #{Digest::SHA256.hexdigest(subject)[0, 16]}"
        logger&.info { "Tiercel::Web: #{action} #{outcome}, #{digest}, client #{client}" }
      rescue Request::BadRequest
        logger&.info { "Tiercel::Web: #{action} #{outcome}, unreadable form, client #{client}" }
      end

      # The address may come from a header that the client sent.
      def client = Format.text(@request.remote_ip.to_s, most: 64)

      def logger = store.logger || (Rails.logger if defined?(Rails.logger))
    end
  end
end
